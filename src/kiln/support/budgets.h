// The budget of every parser: the most that one input file may make Kiln read or hold.
//
// A parser that meets more stops with one line that names the file, the quantity and the budget. Without budgets a file
// of a few kilobytes could ask for all memory of the machine.
#ifndef KILN_SUPPORT_BUDGETS_H_
#define KILN_SUPPORT_BUDGETS_H_

#include <cstdint>

namespace kiln::budgets {

inline constexpr int64_t kKiB = int64_t{1} << 10, kMiB = int64_t{1} << 20, kGiB = int64_t{1} << 30;

// kYamlBytes and so on: one constant for each row of the table.
#define KILN_BUDGET(name, limit, unit, what) inline constexpr int64_t k##name = limit;
#include "kiln/support/budgets.def"
#undef KILN_BUDGET

struct Budget {
  const char* name;
  int64_t limit;
  const char* unit;  // "bytes", or "" for a number of things
  const char* what;
};
inline constexpr Budget kAll[] = {
#define KILN_BUDGET(name, limit, unit, what) {#name, limit, unit, what},
#include "kiln/support/budgets.def"
#undef KILN_BUDGET
};

}  // namespace kiln::budgets

#endif  // KILN_SUPPORT_BUDGETS_H_
