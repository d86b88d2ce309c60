// Removes the vectors that another vector beats or equals in every coordinate.
//
// Internal to the folder fold/.
#ifndef KILN_TARGETS_DATAFLOW_FOLD_DOMINANCE_H_
#define KILN_TARGETS_DATAFLOW_FOLD_DOMINANCE_H_

#include <cstdint>
#include <vector>

namespace kiln::dataflow {

// Returns the indices of the rows that no other row dominates, in lexicographic order of the rows.
// A row dominates another if it is at most as large in every column; of equal rows the first stays.
//   rows     row-major, `columns` values each
//   columns      may be 0: then all rows are equal
//   comparisons  the number of 64-bit words that were compared is added, as a measure of time
std::vector<int> Undominated(const std::vector<int64_t>& rows, int columns, int count,
                             int64_t* comparisons);

}  // namespace kiln::dataflow

#endif  // KILN_TARGETS_DATAFLOW_FOLD_DOMINANCE_H_
