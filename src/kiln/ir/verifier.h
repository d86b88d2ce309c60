// The rules that every graph keeps. Passes and compilers may count on them; importers, parsers and tests check them.
//
//   values       unique names that FindValue finds; an input, a constant or the result of one node; acceptable shapes
//   nodes        operand and result counts, element types and attributes as in signatures.def; operands computed
//                earlier
//   types        no known dimension or element type that inference contradicts
//   users        exactly the uses there are
//   outputs      values of this graph
//   annotations  known formats; as many scales as the scheme has (ir/graph.h), positive and finite; as many zero
//   points,
//                each a code of the format, all 0 when symmetric; asymmetric in whole integers only
#ifndef KILN_IR_VERIFIER_H_
#define KILN_IR_VERIFIER_H_

#include "kiln/ir/graph.h"
#include "kiln/support/status.h"

namespace kiln {

// OK, or the first fault found, naming the node or value.
Status Verify(const Graph& graph);

// The rules of one annotation, for a value of the given type.
Status VerifyQuantisation(const Quantisation& quantisation, const TensorType& type,
                          std::string_view source, std::string_view place);

}  // namespace kiln

#endif  // KILN_IR_VERIFIER_H_
