// Runs side by side, figure by figure and kernel by kernel, as text, JSON and an HTML page. The
// command `kiln compare` fills the structure.
#ifndef KILN_REPORT_COMPARISON_H_
#define KILN_REPORT_COMPARISON_H_

#include <optional>
#include <string>
#include <vector>

#include "kiln/report/saved_run.h"

namespace kiln {

struct Comparison {
  std::vector<SavedRun> runs;
  std::vector<std::string> labels;  // of the runs, all different: "systolic-int8-8x8 int8"
  // A kernel by name. Of several kernels of one name in a run, the first belongs to the first of
  // the others, and so on.
  struct Kernel {
    std::string name;
    std::vector<int> places;  // by run: index into SavedRun::kernels, or -1
  };
  std::vector<Kernel> kernels;     // in the first run's order, followed by those of later runs
  std::vector<std::string> notes;  // what to know before figures are compared
};

// Host shares that differ by more than this are not the same; 0 to 1.
inline constexpr double kSameHostShare = 1e-4;

// Puts at least two runs side by side.
//   any_host  whether runs whose host does another share of the operations are compared; a note
//             then states the shares
//   errors    fewer than two runs, or more than the budget; such runs, unless any_host
StatusOr<Comparison> Compare(std::vector<SavedRun> runs, bool any_host);

// Formats the figures, and the `top` kernels with the most cycles in any run, with the ratio to the
// first run.
std::string ToText(const Comparison& comparison, int top);
// Formats everything as JSON. Figures that are not known are null.
std::string ToJson(const Comparison& comparison);
// Formats everything as one HTML page without scripts.
std::string ToHtml(const Comparison& comparison);

}  // namespace kiln

#endif  // KILN_REPORT_COMPARISON_H_
