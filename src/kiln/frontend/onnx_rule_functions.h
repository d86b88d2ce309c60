// Declares every function that onnx_rules.def names; onnx_upgrades.cc and onnx_compositions.cc
// define them. A row without a function does not link.
#ifndef KILN_FRONTEND_ONNX_RULE_FUNCTIONS_H_
#define KILN_FRONTEND_ONNX_RULE_FUNCTIONS_H_

#include "kiln/frontend/onnx_rules.h"

namespace kiln::onnx_rules {

#define KILN_ONNX_UPGRADE(name, first, last, function) Status function(NodeImport& node);
#define KILN_ONNX_COMPOSITION(name, function) Status function(NodeImport& node);
#include "kiln/frontend/onnx_rules.def"
#undef KILN_ONNX_UPGRADE
#undef KILN_ONNX_COMPOSITION

}  // namespace kiln::onnx_rules

#endif  // KILN_FRONTEND_ONNX_RULE_FUNCTIONS_H_
