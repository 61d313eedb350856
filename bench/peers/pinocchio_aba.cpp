// Time of Pinocchio's articulated-body algorithm on binary trees of ball joints, called from C++; built and run by pinocchio_aba.py.
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/joint-configuration.hpp>
#include <pinocchio/multibody.hpp>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <string>

#include <sys/mman.h>
#include <unistd.h>

// Pinocchio's memory has four tensors of the third power of the rates, for second derivatives: 925 GB for 1023 ball joints, all of
// it set to zero, none of it used here. Blocks that have no room anywhere are given addresses that lead to the same few pages.
constexpr size_t HUGE_BLOCK = size_t(3) << 30, SHARED = size_t(1) << 26;
extern "C" void *__libc_malloc(size_t);
extern "C" void __libc_free(void *);
static char *low = nullptr, *high = nullptr;

extern "C" void *malloc(size_t size) {
  if (size < HUGE_BLOCK) return __libc_malloc(size);
  static const int pages = [] {
    const int file = memfd_create("shared", 0);
    return ftruncate(file, SHARED) == 0 ? file : -1;
  }();
  const size_t whole = (size + SHARED - 1) / SHARED * SHARED;
  char *block = (char *)mmap(nullptr, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (block == MAP_FAILED || pages < 0) return nullptr;
  for (size_t at = 0; at < whole; at += SHARED)
    if (mmap(block + at, SHARED, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, pages, 0) == MAP_FAILED) return nullptr;
  low = low ? std::min(low, block) : block;
  high = std::max(high, block + whole);
  return block;
}

// the few huge blocks stay until the end
extern "C" void free(void *block) {
  if ((char *)block < low || (char *)block >= high) __libc_free(block);
}

namespace pin = pinocchio;

static double cpu_seconds() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}

static void measure(int bodies) {
  pin::Model model;
  for (int k = 0; k < bodies; ++k) {
    const pin::JointIndex parent = k == 0 ? 0 : (k - 1) / 2 + 1;
    const auto joint = model.addJoint(parent, pin::JointModelSpherical(), pin::SE3::Random(), "j" + std::to_string(k));
    model.appendBodyToJoint(joint, pin::Inertia::Random(), pin::SE3::Identity());
  }
  pin::Data data(model);
  const Eigen::VectorXd q = pin::integrate(model, pin::neutral(model), Eigen::VectorXd::Random(model.nv));
  const Eigen::VectorXd v = Eigen::VectorXd::Random(model.nv), tau = Eigen::VectorXd::Random(model.nv);
  std::printf("%d", bodies);
  for (const auto convention : {pin::Convention::WORLD, pin::Convention::LOCAL}) {
    double best = 1e9;
    const int count = std::max(1, 20000 / bodies);
    for (int repeat = 0; repeat < 30; ++repeat) {
      const double start = cpu_seconds();
      for (int k = 0; k < count; ++k) pin::aba(model, data, q, v, tau, convention);
      best = std::min(best, (cpu_seconds() - start) / count);
    }
    std::printf(" %.2f", best * 1e6);
  }
  std::printf("\n");
  std::fflush(stdout);
}

int main(int argc, char **argv) {
  for (int k = 1; k < argc; ++k) measure(std::stoi(argv[k]));
}
