"""Which scenes are compared, and which settings every engine may try. The first setting of an engine is its default."""

# what decides how good a run is: "motion" its distance from a reference motion, "still" that nothing moves,
# "settle" that it comes to rest where it is, "joints" that joints and contacts hold
SCENES = {
    "tree-127": dict(scene=["tree", "bodies=127"], judged="motion", until=2.0),
    "tree-1023": dict(scene=["tree", "bodies=1023"], judged="motion", until=2.0),
    "star-127": dict(scene=["star", "bodies=127"], judged="motion", until=2.0),
    "wrecking-ball-1e3": dict(scene=["wrecking-ball", "mass=1000"], judged="motion", until=1.0, finest=5e-5),
    "wrecking-ball-1e6": dict(scene=["wrecking-ball", "mass=1000000"], judged="motion", until=1.0, finest=1e-5),
    "scissor-lift-10": dict(scene=["scissor-lift", "pairs=10"], judged="still"),
    "scissor-lift-50": dict(scene=["scissor-lift", "pairs=50"], judged="still"),
    "strandbeest-12": dict(scene=["strandbeest", "legs=12", "load=20", "ground=1"], judged="joints"),
    "pyramid-20": dict(scene=["pyramid", "base=20"], judged="still"),
    "pyramid-20-dropped": dict(scene=["pyramid", "base=20", "drop=0.01"], judged="settle"),
    "pyramid-50": dict(scene=["pyramid", "base=50"], judged="still"),
    "rings-90": dict(scene=["rings", "rings=90"], judged="joints"),
    "rings-360": dict(scene=["rings", "rings=360"], judged="joints"),
    "crane": dict(scene=["crane"], judged="still"),
    "double-pendulum": dict(scene=["double-pendulum"], judged="motion", until=2.0),
}

TREES = {"tree-127", "tree-1023", "star-127", "wrecking-ball-1e3", "wrecking-ball-1e6", "double-pendulum"}
LOOPS = {"scissor-lift-10", "scissor-lift-50", "strandbeest-12", "crane"}  # joint coordinates with closed loops
DENSE = {"tree-127", "tree-1023", "star-127"}
UNJOINTED = {"pyramid-20", "pyramid-20-dropped", "pyramid-50"}
CONTACTS = {"strandbeest-12", "pyramid-20", "pyramid-20-dropped", "pyramid-50", "rings-90", "rings-360", "crane"}


def stiff(h, parts, **more):
    """MuJoCo's constraints as stiff as its rule allows (a time constant of two steps), and hardly any slack."""
    return dict(substeps=parts, integrator="implicitfast", solref=f"{2 * h / parts:.9g} 1", solimp="0.9999 0.9999 0.001",
                iterations=200, tolerance=1e-12, **more)


def settings(scene, engine, h):
    """Label and settings, the default first."""
    moving, touching = scene in TREES, scene in CONTACTS
    if engine == "linkwork":
        tries = [("default", {}), ("4 substeps", dict(substeps=4))]
        if moving:
            tries += [(f"tolerance {t}", dict(tolerance=float(t))) for t in ("1e-3", "1e-5", "1e-7")]
            tries += [(f"reduced, tolerance {t}", dict(reduced=True, tolerance=float(t))) for t in ("1e-3", "1e-5")]
        if moving or scene in LOOPS:
            tries += [("reduced", dict(reduced=True))]
        return tries
    if engine in ("rapier-f64", "rapier-f32"):
        tries = [("default", {}), ("4 substeps", dict(substeps=4)), ("16 substeps", dict(substeps=16)),
                 ("20 iterations", dict(iterations=20)), ("16 substeps, 20 iterations", dict(substeps=16, iterations=20))]
        if scene not in UNJOINTED:
            tries += [("20 iterations, joints warm-started", dict(iterations=20, warm_joints=True))]
        if touching:
            tries += [("20 iterations, stiff contacts, no slop", dict(iterations=20, contact_frequency=120.0, no_slop=True))]
        if engine == "rapier-f32":  # still finer steps and joint coordinates are tried in double precision
            return tries
        if not touching:
            tries += [("64 substeps, 20 iterations", dict(substeps=64, iterations=20))]
        if scene in DENSE:  # their multibodies take dense matrices: 300 ms a step for 127 bodies, minutes for 1023
            return tries + [("multibody, undamped", dict(multibody=True, undamped=True))] * (scene != "tree-1023")
        if moving:
            tries += [("multibody, undamped", dict(multibody=True, undamped=True)),
                      ("multibody, undamped, 4 substeps", dict(multibody=True, undamped=True, substeps=4))]
        elif scene not in UNJOINTED | {"rings-360"}:
            tries += [("multibody, loops as impulses", dict(multibody=True, undamped=True))]
        return tries
    if engine == "mujoco":
        tries = [("default", {})]
        if moving:
            return tries + [("4 substeps", dict(substeps=4)), ("implicitfast", dict(integrator="implicitfast"))] + [
                (f"RK4, {n} substeps" if n > 1 else "RK4", dict(integrator="RK4", substeps=n)) for n in (1, 4, 16, 64)]
        tries += [(f"stiff, {n} substeps" if n > 1 else "stiff", stiff(h, n)) for n in (1, 4, 16)]
        # the integrator of its version 4, whose constraints may be stiffer than two steps
        hard = dict(integrator="discrete", solref="0.001 1", solimp="0.9999 0.9999 0.001")
        tries += [("discrete", dict(integrator="discrete")), ("discrete, stiff", hard), ("discrete, stiff, 4 substeps", hard | dict(substeps=4))]
        if touching:  # with as little slack as above, stacks of contacts do not converge
            firm = lambda n, **more: dict(substeps=n, integrator="implicitfast", solref=f"{2 * h / n:.9g} 1", **more)
            tries += [("firm", firm(1)), ("firm, 4 substeps", firm(4)), ("firm, 4 substeps, elliptic cones", firm(4, cone="elliptic", impratio=10)),
                      ("discrete, firm, 4 substeps", dict(integrator="discrete", solref="0.005 1", substeps=4))]
        return tries
    if engine == "ode":
        tries = [("quick step", dict(method="quick")), ("quick step, 200 iterations", dict(method="quick", iterations=200)),
                 ("direct step", dict(method="direct")),
                 ("direct step, ERP 0.8, CFM 1e-13", dict(method="direct", erp=0.8, cfm=1e-13)),
                 ("direct step, 4 substeps", dict(method="direct", substeps=4))]
        if scene in LOOPS:  # what Tomcin found best for a crane and for machines
            tries += [("quick step, 500 iterations, ERP 0.1, 10 substeps", dict(method="quick", iterations=500, erp=0.1, substeps=10)),
                      ("quick step, 10 substeps", dict(method="quick", substeps=10)),
                      ("direct step, ERP 0, CFM 1e-10", dict(method="direct", erp=0.0, cfm=1e-10))]
        elif touching:
            tries += [("quick step, 4 substeps", dict(method="quick", substeps=4))]
        if scene == "pyramid-50":  # a direct step would take minutes
            return [(label, s) for label, s in tries if s["method"] == "quick"]
        if scene == "tree-1023":  # a direct step takes seconds
            return tries[:3] + [("quick step, 16 substeps", dict(method="quick", substeps=16))]
        return tries + ([("quick step, 16 substeps", dict(method="quick", substeps=16)),
                         ("direct step, 16 substeps", dict(method="direct", substeps=16))] if moving else [])
    raise ValueError(engine)


ENGINES = ["linkwork", "rapier-f64", "rapier-f32", "mujoco", "ode"]


# references are not better than this, m: what is below is equal
REFERENCE = 1e-6


def cut_off(result):
    """It took more time than allowed, so that nothing is known of its end."""
    return result.get("note", "").startswith("stopped")


def comparable(scene, result):
    """Whether its error is one of the whole scene: of a reference motion, if it came as far as that."""
    if "failed" in result:
        return False
    return "motion_error_m" in result if SCENES[scene]["judged"] == "motion" else not cut_off(result)


def steps_to_time(scene, result):
    """All; of a run that was cut off only those that lead to the reference motion."""
    until = round(SCENES[scene].get("until", 0.0) / result["h"])
    return until if cut_off(result) and 0 < until <= result["done"] else result["done"]


def repeats(result):
    """How often it was timed."""
    return len(result.get("times", {}).get("step_ms", [])) or 1


def cost(result):
    """CPU ms a step: the fastest repeat; if it was not repeated, or not to its end, the run that was written down."""
    times = result.get("times")
    return min(times["step_ms"]) if times and times["steps"] == result["done"] else result["written"]["step_ms"]


def spread(result):
    """How far the median of the repeats is above the fastest."""
    times = sorted(result["times"]["step_ms"]) if "times" in result else [1.0]
    return times[len(times) // 2] / times[0] - 1


def cost_until(result):
    """The same of the steps that lead to the reference motion; of all where there is none."""
    return min(result["times"]["until_ms"]) if "times" in result else result["written"]["until_ms"]


def error(scene, result):
    """The one number by which runs of a scene are compared, m."""
    judged = SCENES[scene]["judged"]
    if judged == "motion":
        return max(result.get("motion_error_m", float("inf")), REFERENCE)
    if judged == "still":
        return result["displacement_m"]
    if judged == "settle":
        return max(result["displacement_across_m"], result["penetration_m"])
    return max(result["joint_error_m"], result.get("penetration_m", 0.0))


def verdict(scene, result):
    """holds, sags, torn, falls, explodes, fails; with "(cut off)" if the time allowed was not enough."""
    note, judged = result.get("note", ""), SCENES[scene]["judged"]
    # Linkwork stops before numbers are not finite any more, which is no better
    gone = "not finite" in note or "range of numbers" in note
    if gone or result["energy_rise"] > 0.5 and result["energy_rise"] * result["kinetic_max"] > result["energy_scale"]:
        return "explodes"
    if note.startswith("step "):
        return "fails"
    if judged == "still":
        moved = result["displacement_m"]
        word = "holds" if moved < 1e-3 else "sags" if moved < 0.1 else "falls"
    else:
        worst = max(result["joint_error_m"], result["displacement_across_m"] if judged == "settle" else 0.0,
                    result.get("penetration_end_m", 0.0))
        word = "holds" if worst < 1e-3 else "sags" if worst < 0.1 else "falls" if judged == "settle" else "torn"
    return word + (" (cut off)" if cut_off(result) else "")
