// KILN_CHECK: assertions of conditions that only a programming error can violate.
//
// Checks are active in every build type. Errors that a user can cause are Status values (status.h).
#ifndef KILN_SUPPORT_CHECK_H_
#define KILN_SUPPORT_CHECK_H_

#include <cstdio>
#include <cstdlib>

namespace kiln::internal {
// Prints the location and the text of the violated condition to stderr, then aborts.
[[noreturn]] inline void CheckFailed(const char* file, int line, const char* condition) {
  std::fprintf(stderr, "%s:%d: check failed: %s\n", file, line, condition);
  std::abort();
}
}  // namespace kiln::internal

// Aborts with file, line and condition if `condition` is false. An expression of type void.
#define KILN_CHECK(condition)         \
  ((condition) ? static_cast<void>(0) \
               : ::kiln::internal::CheckFailed(__FILE__, __LINE__, #condition))

#endif  // KILN_SUPPORT_CHECK_H_
