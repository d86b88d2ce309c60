// Operator signatures: the operands, results and attributes that each operator takes. Parsed from
// signatures.def. Shape inference and the verifier check nodes against signatures;
// docs/operators.md lists them.
#ifndef KILN_IR_SIGNATURE_H_
#define KILN_IR_SIGNATURE_H_

#include <string>
#include <string_view>
#include <vector>

#include "kiln/ir/attributes.h"
#include "kiln/ir/graph.h"
#include "kiln/ir/op.h"
#include "kiln/support/status.h"

namespace kiln {

// The kinds of attributes: the alternatives of Attribute (attributes.h) in the same order.
enum class AttributeKind { kInt, kFloat, kString, kInts, kFloats, kStrings, kTensor };
// Returns "int", "float", "string", "ints", "floats", "strings" or "tensor".
std::string_view NameOf(AttributeKind kind);
// Returns the kind of a value.
inline AttributeKind KindOf(const Attribute& attribute) {
  return static_cast<AttributeKind>(attribute.index());
}

// One attribute of an operator.
struct AttributeSpec {
  std::string name;
  AttributeKind kind = AttributeKind::kInt;
  bool required = false;
  // The value that an absent attribute stands for, as text. Empty if the attribute is required or
  // if its absence has a meaning of its own.
  std::string fallback;
  std::vector<std::string> allowed;  // the allowed strings; empty: any
};

// The element type of one operand or result: a class, and a letter for operands and results that
// must have the same type.
struct TypeSpec {
  char letter = 0;            // 0: none
  std::string element_class;  // "float", "any", "i64", ...; with a letter, the class of the letter
  bool repeats = false;       // also applies to all further operands or results
};

// A row of signatures.def.
struct Signature {
  Op op;
  std::string types;  // as in signatures.def
  std::vector<TypeSpec> operands, results;
  std::vector<AttributeSpec> attributes;  // sorted by name
  // Returns the specification of an attribute, or null if the operator does not take it.
  const AttributeSpec* FindAttribute(std::string_view name) const;
  // Return the specification of the i-th operand or result; null beyond the last.
  const TypeSpec* Operand(int i) const;
  const TypeSpec* Result(int i) const;
};

// Returns the signature of an operator.
const Signature& SignatureOf(Op op);

// Returns whether an element type belongs to a class ("any", "num", "float", "int", "index", ...)
// or has that name.
bool IsOfClass(ElementType type, std::string_view element_class);

// Checks operand count, presence and element types. If OK, `results` holds one element type per
// result, or nullopt if the shape rule decides it.
Status CheckElementTypes(const Node& node, std::string_view source,
                         std::vector<std::optional<ElementType>>* results = nullptr);

// Checks presence, kind and allowed strings of all attributes. Unknown attributes are errors.
Status CheckAttributes(const Node& node, std::string_view source);

}  // namespace kiln

#endif  // KILN_IR_SIGNATURE_H_
