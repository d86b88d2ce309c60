// Names of stages, which become names of modules' instances in the RTL and of rows in reports.
#ifndef KILN_TARGETS_DATAFLOW_COMPILE_STAGE_NAME_H_
#define KILN_TARGETS_DATAFLOW_COMPILE_STAGE_NAME_H_

#include <string>
#include <string_view>

namespace kiln::dataflow {

// Returns a short name for the stage of a layer, of letters, digits and underscores. It comes from
// the layer's first node, without what parts of that name repeat of the part before:
// "/body/body.0/body.0.0/Conv+/body/body.0/body.0.1/Relu" is "body_0_0_Conv". Layers can have the
// same short name.
std::string StageName(std::string_view layer);

}  // namespace kiln::dataflow

#endif  // KILN_TARGETS_DATAFLOW_COMPILE_STAGE_NAME_H_
