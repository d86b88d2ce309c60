// The budgets of all parsers: upper limits on what one input may make Kiln read or allocate.
//
// Without budgets an input of a few kilobytes could exhaust the machine's memory. A parser that
// exceeds a budget stops with a one-line error that names the file, the quantity and the limit. The
// limits themselves are in budgets.def.
#ifndef KILN_SUPPORT_BUDGETS_H_
#define KILN_SUPPORT_BUDGETS_H_

#include <cstdint>

namespace kiln::budgets {

inline constexpr int64_t kKiB = int64_t{1} << 10, kMiB = int64_t{1} << 20, kGiB = int64_t{1} << 30;

// Defines one constant per row of the table: kYamlBytes, kOnnxNodes and so on.
#define KILN_BUDGET(name, limit, unit, what) inline constexpr int64_t k##name = limit;
#include "kiln/support/budgets.def"
#undef KILN_BUDGET

// One row of budgets.def, for code and tests that enumerate the table.
struct Budget {
  const char* name;  // without the leading k
  int64_t limit;     // in `unit`
  const char* unit;  // "bytes", or "" for a count
  const char* what;  // the limited quantity, as docs/budgets.md prints it
};
// All rows, in the order of budgets.def.
inline constexpr Budget kAll[] = {
#define KILN_BUDGET(name, limit, unit, what) {#name, limit, unit, what},
#include "kiln/support/budgets.def"
#undef KILN_BUDGET
};

}  // namespace kiln::budgets

#endif  // KILN_SUPPORT_BUDGETS_H_
