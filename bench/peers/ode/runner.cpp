// ODE by the protocol of the peers (neutral/src/protocol.rs).
//
//   runner --scene FILE.flat --method quick|direct --substeps N --iterations N --erp X --cfm X --budget S --until S --out FILE
//   runner ... --steps N --repeats N
//
// FILE.flat is the neutral scene as plain numbers: see `flat` in scenes.py.
#include <ode/ode.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace {

const int warm_up = 5;
const double hopeless = 2, early = 0.25;

struct Shape {
    int solid;  // 0 box, 1 sphere, 2 capsule, 3 cylinder, 4 plane
    double size[3], position[3], orientation[4], friction, restitution;
    unsigned group, mask;
};

struct Body {
    int dynamic;
    double position[3], orientation[4], velocity[3], omega[3], mass, center[3], tensor[6];
    std::vector<Shape> shapes;
};

struct Joint {
    int hinge, a, b;
    double point[3], axis[3];  // in the world, at the start
};

struct Scene {
    double gravity[3], h, duration;
    std::vector<Body> bodies;
    std::vector<Joint> joints;
};

template <size_t n>
void read(std::ifstream& in, double (&out)[n]) {
    for (double& x : out) in >> x;
}

Scene load(const std::string& path) {
    std::ifstream in(path);
    if (!in) {
        fprintf(stderr, "ode: cannot read %s\n", path.c_str());
        exit(1);
    }
    Scene scene;
    size_t bodies, joints, shapes;
    read(in, scene.gravity);
    in >> scene.h >> scene.duration >> bodies >> joints;
    scene.bodies.resize(bodies);
    for (Body& b : scene.bodies) {
        in >> b.dynamic;
        read(in, b.position), read(in, b.orientation), read(in, b.velocity), read(in, b.omega);
        in >> b.mass;
        read(in, b.center), read(in, b.tensor);
        in >> shapes;
        b.shapes.resize(shapes);
        for (Shape& s : b.shapes) {
            in >> s.solid;
            read(in, s.size), read(in, s.position), read(in, s.orientation);
            in >> s.friction >> s.restitution >> s.group >> s.mask;
        }
    }
    scene.joints.resize(joints);
    for (Joint& j : scene.joints) {
        in >> j.hinge >> j.a >> j.b;
        read(in, j.point), read(in, j.axis);
    }
    if (!in) {
        fprintf(stderr, "ode: %s ends too early\n", path.c_str());
        exit(1);
    }
    return scene;
}

struct Settings {
    bool direct = false;
    int substeps = 1, iterations = 20;
    double erp = -1, cfm = -1;
};

double cpu_seconds() {
    timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

class Engine {
  public:
    Engine(const Scene& scene, const Settings& settings) : scene(scene), settings(settings) {
        world = dWorldCreate();
        space = dHashSpaceCreate(0);
        contacts = dJointGroupCreate(0);
        dWorldSetGravity(world, scene.gravity[0], scene.gravity[1], scene.gravity[2]);
        dWorldSetAutoDisableFlag(world, 0);
        dWorldSetQuickStepNumIterations(world, settings.iterations);
        if (settings.erp >= 0) dWorldSetERP(world, settings.erp);
        if (settings.cfm >= 0) dWorldSetCFM(world, settings.cfm);
        for (const Body& b : scene.bodies) add(b);
        for (const Joint& j : scene.joints) {
            dBodyID a = j.a < 0 ? 0 : bodies[j.a], b = j.b < 0 ? 0 : bodies[j.b];
            dJointID joint = j.hinge ? dJointCreateHinge(world, 0) : dJointCreateBall(world, 0);
            dJointAttach(joint, a, b);
            if (j.hinge) {
                dJointSetHingeAnchor(joint, j.point[0], j.point[1], j.point[2]);
                dJointSetHingeAxis(joint, j.axis[0], j.axis[1], j.axis[2]);
            } else {
                dJointSetBallAnchor(joint, j.point[0], j.point[1], j.point[2]);
            }
            joined.insert({std::min(j.a, j.b), std::max(j.a, j.b)});
        }
        collides = dSpaceGetNumGeoms(space) > 1;
    }

    ~Engine() {
        dJointGroupDestroy(contacts);
        dSpaceDestroy(space);
        dWorldDestroy(world);
    }

    void step() {
        double h = scene.h / settings.substeps;
        for (int k = 0; k < settings.substeps; ++k) {
            if (collides) dSpaceCollide(space, this, near);
            if (settings.direct)
                dWorldStep(world, h);
            else
                dWorldQuickStep(world, h);
            dJointGroupEmpty(contacts);
        }
    }

    void state(std::vector<double>& out) const {
        for (size_t k = 0; k < bodies.size(); ++k) {
            const Body& b = scene.bodies[k];
            if (!bodies[k]) {
                out.insert(out.end(), b.position, b.position + 3);
                out.insert(out.end(), b.orientation, b.orientation + 4);
                out.insert(out.end(), 6, 0.0);
                continue;
            }
            const dReal *x = dBodyGetPosition(bodies[k]), *q = dBodyGetQuaternion(bodies[k]);
            const dReal *v = dBodyGetLinearVel(bodies[k]), *w = dBodyGetAngularVel(bodies[k]);
            out.insert(out.end(), x, x + 3);
            out.insert(out.end(), q, q + 4);
            out.insert(out.end(), v, v + 3);
            out.insert(out.end(), w, w + 3);
        }
    }

  private:
    const Scene& scene;
    const Settings& settings;
    dWorldID world;
    dSpaceID space;
    dJointGroupID contacts;
    bool collides;
    std::vector<dBodyID> bodies;
    std::set<std::pair<int, int>> joined;
    std::map<dGeomID, std::pair<int, const Shape*>> owner;

    void add(const Body& b) {
        dMatrix3 r;
        dQuaternion q = {b.orientation[0], b.orientation[1], b.orientation[2], b.orientation[3]};
        dQtoR(q, r);
        dBodyID body = 0;
        if (b.dynamic) {
            // their bodies have their origin at the centre of mass
            body = dBodyCreate(world);
            dVector3 lever;
            dMultiply0_331(lever, r, b.center);
            dBodySetPosition(body, b.position[0] + lever[0], b.position[1] + lever[1], b.position[2] + lever[2]);
            dBodySetQuaternion(body, q);
            dBodySetLinearVel(body, b.velocity[0], b.velocity[1], b.velocity[2]);
            dBodySetAngularVel(body, b.omega[0], b.omega[1], b.omega[2]);
            dMass mass;
            dMassSetParameters(&mass, b.mass, 0, 0, 0, b.tensor[0], b.tensor[1], b.tensor[2], b.tensor[3], b.tensor[4], b.tensor[5]);
            dBodySetMass(body, &mass);
        }
        int index = int(bodies.size());
        bodies.push_back(body);
        for (const Shape& s : b.shapes) {
            dMatrix3 turn, total;
            dQuaternion local = {s.orientation[0], s.orientation[1], s.orientation[2], s.orientation[3]};
            dQtoR(local, turn);
            dMultiply0_333(total, r, turn);
            dVector3 offset = {s.position[0], s.position[1], s.position[2]}, at;
            dMultiply0_331(at, r, offset);
            for (int k = 0; k < 3; ++k) at[k] += b.position[k];
            dGeomID geom = 0;
            switch (s.solid) {
                case 0: geom = dCreateBox(space, s.size[0], s.size[1], s.size[2]); break;
                case 1: geom = dCreateSphere(space, s.size[0]); break;
                case 2: geom = dCreateCapsule(space, s.size[0], s.size[1]); break;
                case 3: geom = dCreateCylinder(space, s.size[0], s.size[1]); break;
                default: {
                    double n[3] = {total[2], total[6], total[10]};
                    geom = dCreatePlane(space, n[0], n[1], n[2], n[0] * at[0] + n[1] * at[1] + n[2] * at[2]);
                }
            }
            owner[geom] = {index, &s};
            if (s.solid == 4) continue;
            if (body) {
                dGeomSetBody(geom, body);
                dGeomSetOffsetPosition(geom, s.position[0] - b.center[0], s.position[1] - b.center[1], s.position[2] - b.center[2]);
                dGeomSetOffsetRotation(geom, turn);
            } else {
                dGeomSetPosition(geom, at[0], at[1], at[2]);
                dGeomSetRotation(geom, total);
            }
        }
    }

    static void near(void* data, dGeomID a, dGeomID b) {
        Engine& self = *static_cast<Engine*>(data);
        dBodyID first = dGeomGetBody(a), second = dGeomGetBody(b);
        if (!first && !second) return;
        auto &p = self.owner[a], &q = self.owner[b];
        if (p.first == q.first || !(p.second->group & q.second->mask) || !(q.second->group & p.second->mask)) return;
        if (self.joined.count({std::min(p.first, q.first), std::max(p.first, q.first)})) return;
        const int most = 8;
        dContact contact[most];
        int count = dCollide(a, b, most, &contact[0].geom, sizeof(dContact));
        for (int k = 0; k < count; ++k) {
            memset(&contact[k].surface, 0, sizeof contact[k].surface);
            contact[k].surface.mode = dContactApprox1;
            contact[k].surface.mu = std::sqrt(p.second->friction * q.second->friction);
            dJointAttach(dJointCreateContact(self.world, self.contacts, &contact[k]), first, second);
        }
    }
};

struct Timing {
    double total = 0, timed = 0, timed_until = 0;
    int steps = 0, until;
    explicit Timing(int until) : until(until) {}
    void add(int step, double seconds) {
        total += seconds;
        steps = step;
        if (step > warm_up) timed += seconds;
        if (step > warm_up && step <= until) timed_until += seconds;
    }
    double until_ms() const { return until > warm_up && steps >= until ? 1e3 * timed_until / (until - warm_up) : mean_ms(); }
    double mean_ms() const { return steps > warm_up ? 1e3 * timed / (steps - warm_up) : 1e3 * total / std::max(1, steps); }
};

// One run, its motion written down.
int write_down(const std::string& path, const Scene& scene, const Settings& settings, int steps, int until, double budget) {
    std::vector<double> frames;
    std::string note;
    Timing timing(until);
    Engine engine(scene, settings);
    engine.state(frames);
    for (int step = 1; step <= steps; ++step) {
        double start = cpu_seconds();
        engine.step();
        timing.add(step, cpu_seconds() - start);
        size_t before = frames.size();
        engine.state(frames);
        if (!std::all_of(frames.begin() + before, frames.end(), [](double x) { return std::isfinite(x); })) {
            note = "not finite at step " + std::to_string(step);
            break;
        }
        double whole = timing.total * steps / step;
        bool give_up = timing.total > early * budget && step >= until && whole > hopeless * budget;
        if (step < steps && (timing.total > budget || give_up)) {
            char text[200];
            snprintf(text, sizeof text, "stopped after %d of %d steps: %.0f s allowed, %.0f s needed", step, steps, budget, whole);
            note = text;
            break;
        }
    }
    char header[2000];
    snprintf(header, sizeof header,
             "{\"engine\": \"ode\", \"h\": %.17g, \"bodies\": %zu, \"frames\": %zu, \"steps\": %d, \"done\": %d, \"spent_s\": %.9g, "
             "\"step_ms\": %.9g, \"until_ms\": %.9g, \"note\": \"%s\"}\n",
             scene.h, scene.bodies.size(), frames.size() / 13 / scene.bodies.size(), steps, timing.steps, timing.total,
             timing.mean_ms(), timing.until_ms(), note.c_str());
    FILE* out = fopen(path.c_str(), "wb");
    if (!out) {
        fprintf(stderr, "ode: cannot write %s\n", path.c_str());
        return 1;
    }
    fputs(header, out);
    fwrite(frames.data(), sizeof(double), frames.size(), out);
    fclose(out);
    fputs(header, stdout);
    return 0;
}

// Runs that are timed and nothing else: as many as asked for unless the time is over, one in any case.
void take_times(const Scene& scene, const Settings& settings, int steps, int repeats, int until, double budget) {
    std::string step_ms, until_ms;
    double spent = 0;
    for (int repeat = 0; repeat == 0 || (repeat < repeats && spent < budget); ++repeat) {
        Engine engine(scene, settings);
        Timing timing(until);
        for (int step = 1; step <= steps; ++step) {
            double start = cpu_seconds();
            engine.step();
            timing.add(step, cpu_seconds() - start);
        }
        spent += timing.total;
        char text[40];
        snprintf(text, sizeof text, "%s%.9g", repeat ? ", " : "", timing.mean_ms()), step_ms += text;
        snprintf(text, sizeof text, "%s%.9g", repeat ? ", " : "", timing.until_ms()), until_ms += text;
    }
    printf("{\"step_ms\": [%s], \"until_ms\": [%s], \"spent_s\": %.9g}\n", step_ms.c_str(), until_ms.c_str(), spent);
}

}  // namespace

int main(int count, char** values) {
    std::map<std::string, std::string> given;
    for (int k = 1; k + 1 < count; k += 2) given[values[k]] = values[k + 1];
    auto number = [&](const char* key, double otherwise) { return given.count(key) ? atof(given[key].c_str()) : otherwise; };
    Scene scene = load(given["--scene"]);
    Settings settings;
    settings.direct = given["--method"] == "direct";
    settings.substeps = int(number("--substeps", 1));
    settings.iterations = int(number("--iterations", 20));
    settings.erp = number("--erp", -1);
    settings.cfm = number("--cfm", -1);
    double budget = number("--budget", 20);
    int steps = int(std::lround(scene.duration / scene.h)), until = int(std::lround(number("--until", 0) / scene.h));

    dInitODE2(0);
    dAllocateODEDataForThread(dAllocateMaskAll);
    dSetMessageHandler([](int, const char*, va_list) {});
    if (given.count("--out")) return write_down(given["--out"], scene, settings, steps, until, budget);
    take_times(scene, settings, std::max(1, int(number("--steps", 1))), std::max(1, int(number("--repeats", 1))), until, budget);
}
