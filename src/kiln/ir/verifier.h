// The invariants of every graph. Passes and compilers rely on them; importers, parsers and tests
// check them.
//
//   values       have unique names, under which FindValue finds them; each is an input, a constant
//                or the result of one node; shapes are acceptable (IsAcceptable)
//   nodes        have operand and result counts, element types and attributes as in signatures.def;
//                operands are computed by earlier nodes
//   types        no known dimension or element type contradicts inference
//   users        the user lists contain exactly the uses
//   outputs      are values of this graph
//   annotations  have known formats and as many scales as the scheme requires (ir/graph.h),
//                positive and finite; as many zero points, each a code of the format and 0 if
//                symmetric; only integers without fraction bits may be asymmetric
#ifndef KILN_IR_VERIFIER_H_
#define KILN_IR_VERIFIER_H_

#include "kiln/ir/graph.h"
#include "kiln/support/status.h"

namespace kiln {

// Returns OK or the first violation, with the name of the node or value.
Status Verify(const Graph& graph);

// Checks one annotation for a value of the given type. `source` and `place` locate it in messages.
Status VerifyQuantisation(const Quantisation& quantisation, const TensorType& type,
                          std::string_view source, std::string_view place);

}  // namespace kiln

#endif  // KILN_IR_VERIFIER_H_
