// One network in many number formats on variants of one accelerator: what `kiln accuracy` measures.
#ifndef KILN_CLI_ACCURACY_H_
#define KILN_CLI_ACCURACY_H_

#include <string>
#include <vector>

#include "kiln/cli/flow.h"
#include "kiln/report/accuracy_table.h"

namespace kiln {

struct AccuracyOptions {
  FlowOptions flow;  // `formats` stand for its recipe; of `evaluate` level, limit and chunk count
  // Names of RecipeByName (int8, mxint8, bf16/nf4), of recipes, or recipe files.
  std::vector<std::string> formats;
};

// A row for fp32 at the reference level and one for each format, bit by bit as the variant of the accelerator for that
// format computes it (Accelerator::WithFormats). A format that cannot be run has its reason in its row.
//   errors  model, data, accelerator; a format that does not exist; no format that runs
StatusOr<AccuracyTable> MeasureAccuracy(const AccuracyOptions& options,
                                        const FlowProgress& progress = {});

}  // namespace kiln

#endif  // KILN_CLI_ACCURACY_H_
