// Operators: an enumeration and a table of their properties, both expanded from operators.def.
//
// signature.h adds the types and attributes of each operator, and shape_inference.h its result
// shapes.
#ifndef KILN_IR_OP_H_
#define KILN_IR_OP_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace kiln {

// Properties of operators that passes and shape rules query.
enum OpTraits : uint32_t {
  kNone = 0,
  kMacs = 1 << 0,         // its work is counted in multiply-accumulates
  kElementwise = 1 << 1,  // result element i depends only on the (broadcast) operands' elements i
  kBroadcasts = 1 << 2,   // operands broadcast against each other
  kHasLayout = 1 << 3,    // takes the attribute `layout`
  kReduces = 1 << 4,      // Reduce*: operands data, axes; attributes keepdims, noop_with_empty_axes
  kMovesData = 1 << 5,    // no arithmetic: result elements are operand elements or a fill value
  kQuantises = 1 << 6,    // part of an already quantised network
};

// One enumerator per row of operators.def.
enum class Op : uint8_t {
#define KILN_OPERATOR(id, text, domain, onnx, least, most, results, traits) k##id,
#include "kiln/ir/operators.def"
#undef KILN_OPERATOR
};

// A row of operators.def.
struct OpInfo {
  Op op;
  std::string_view id;           // "Conv"
  std::string_view text;         // "conv", the name in the text form
  std::string_view onnx_domain;  // "" for ai.onnx
  std::string_view onnx_name;
  int min_operands;
  int max_operands;  // -1: no limit
  int max_results;   // -1: no limit
  uint32_t traits;
  // Returns whether the operator has a trait.
  bool Has(OpTraits trait) const { return (traits & trait) != 0; }
};

// All rows in the order of operators.def.
std::span<const OpInfo> AllOps();
// Returns the row of an operator.
const OpInfo& InfoOf(Op op);
// Return the operator with that name, or nullopt. The domain "ai.onnx" is the same as "".
std::optional<Op> FindOpByText(std::string_view text);
std::optional<Op> FindOpByOnnxName(std::string_view domain, std::string_view name);

}  // namespace kiln

#endif  // KILN_IR_OP_H_
