// Measures one network in many number formats on variants of one accelerator, for `kiln accuracy`.
#ifndef KILN_FLOW_ACCURACY_H_
#define KILN_FLOW_ACCURACY_H_

#include <string>
#include <vector>

#include "kiln/flow/flow.h"
#include "kiln/report/accuracy_table.h"

namespace kiln {

// The settings of a measurement.
struct AccuracyOptions {
  // The common flow. The formats replace its recipe; of `evaluate` only limit, chunk, top_k and
  // confusion count.
  FlowOptions flow;
  // Recipes by file or name, or type names for RecipeByName (int8, mxint8, bf16/nf4).
  std::vector<std::string> formats;
  // The number of images on which the error by layer is measured (quantise/layer_errors.h), from
  // the first; 0: it is not measured.
  int64_t layer_images = 0;
};

// Returns a row for fp32 at the reference level and one for each format. Each format runs bit by
// bit on the variant of the accelerator for that format (Accelerator::WithFormats). It runs on the
// design point itself if the family has no variants and the design point takes the format, or if
// the host does less of a recipe's layers beside it than beside the variant. The row of a format
// that cannot run holds the reason.
//   errors  errors of model, data and accelerator; an unknown format; no format that runs
StatusOr<AccuracyTable> MeasureAccuracy(const AccuracyOptions& options,
                                        const FlowProgress& progress = {});

}  // namespace kiln

#endif  // KILN_FLOW_ACCURACY_H_
