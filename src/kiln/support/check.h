// Checks for what only a programmer can get wrong; they abort in every build type and say where.
#ifndef KILN_SUPPORT_CHECK_H_
#define KILN_SUPPORT_CHECK_H_

#include <cstdio>
#include <cstdlib>

namespace kiln::internal {
[[noreturn]] inline void CheckFailed(const char* file, int line, const char* condition) {
  std::fprintf(stderr, "%s:%d: check failed: %s\n", file, line, condition);
  std::abort();
}
}  // namespace kiln::internal

#define KILN_CHECK(condition)         \
  ((condition) ? static_cast<void>(0) \
               : ::kiln::internal::CheckFailed(__FILE__, __LINE__, #condition))

#endif  // KILN_SUPPORT_CHECK_H_
