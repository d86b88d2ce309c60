// Mutates ONNX models for libFuzzer. Random byte flips seldom leave a protobuf that parses, so the
// mutator changes a parsed model instead: it sets, clears, duplicates or copies a field. Every
// fourth mutation changes bytes after all, to reach code that only broken encodings exercise.
#include <google/protobuf/message.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "kiln/ir/op.h"
#include "kiln/support/random.h"
#include "onnx/onnx_pb.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* bytes, size_t size, size_t max_size);

namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// Values at which importers tend to break: small counts, powers of two, limits of integer types.
constexpr int64_t kIntegers[] = {0,   1,   -1,   2,          3,          4,         5,        7,
                                 8,   9,   13,   16,         21,         64,        -2,       127,
                                 128, 255, 4096, 2147483647, 2147483648, 1LL << 40, 1LL << 62};
constexpr double kFloats[] = {0, -0.0, 1, -1, 0.5, 2, 255, 1e-45, 1e38, 1e300};
// Names of attributes and inputs that the import rules look for.
constexpr const char* kNames[] = {"",
                                  "x",
                                  "axis",
                                  "axes",
                                  "kernel_shape",
                                  "pads",
                                  "strides",
                                  "dilations",
                                  "group",
                                  "auto_pad",
                                  "ceil_mode",
                                  "perm",
                                  "keepdims",
                                  "to",
                                  "alpha",
                                  "beta",
                                  "epsilon",
                                  "transA",
                                  "transB",
                                  "value",
                                  "mode",
                                  "SAME_UPPER",
                                  "VALID",
                                  "linear",
                                  "nearest",
                                  "cubic",
                                  "allowzero",
                                  "num_outputs",
                                  "split",
                                  "output_padding",
                                  "output_shape",
                                  "blocksize",
                                  "equation",
                                  "scales",
                                  "sizes",
                                  "noop_with_empty_axes"};

// Applies random changes to one model.
class Mutator {
 public:
  Mutator(onnx::ModelProto* model, unsigned seed) : model_(model), random_(seed) {
    Collect(model, 0);
    for (const kiln::OpInfo& op : kiln::AllOps()) operators_.emplace_back(op.onnx_name);
  }

  // Applies one to three changes.
  void Mutate() {
    for (uint64_t changes = 1 + random_.Below(3); changes > 0; --changes) {
      messages_.clear();
      Collect(model_, 0);
      Change(messages_[Below(messages_.size())]);
    }
  }

 private:
  size_t Below(size_t bound) { return static_cast<size_t>(random_.Below(bound)); }
  bool Chance(int of) { return random_.Below(static_cast<uint64_t>(of)) == 0; }

  // Collects all messages of the model and the strings in them, most of which are names.
  void Collect(Message* message, int depth) {
    if (depth > 20) return;
    messages_.push_back(message);
    const Reflection& r = *message->GetReflection();
    std::vector<const FieldDescriptor*> fields;
    r.ListFields(*message, &fields);
    for (const FieldDescriptor* field : fields) {
      const int count = field->is_repeated() ? r.FieldSize(*message, field) : 1;
      for (int i = 0; i < count; ++i) {
        if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
          Collect(field->is_repeated() ? r.MutableRepeatedMessage(message, field, i)
                                       : r.MutableMessage(message, field),
                  depth + 1);
        } else if (field->type() == FieldDescriptor::TYPE_STRING && strings_.size() < 1000) {
          strings_.push_back(field->is_repeated() ? r.GetRepeatedString(*message, field, i)
                                                  : r.GetString(*message, field));
        }
      }
    }
  }

  // Changes one field of a message: usually a field that is set, sometimes any field of the type.
  void Change(Message* message) {
    const Reflection& r = *message->GetReflection();
    std::vector<const FieldDescriptor*> fields;
    r.ListFields(*message, &fields);
    const auto* descriptor = message->GetDescriptor();
    const FieldDescriptor* field =
        fields.empty() || Chance(6)
            ? descriptor->field(static_cast<int>(Below(descriptor->field_count())))
            : fields[Below(fields.size())];
    if (!field->is_repeated()) {
      if (Chance(8)) return r.ClearField(message, field);
      if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) return Set(message, field, -1);
      if (const Message* like = Like(field)) r.MutableMessage(message, field)->CopyFrom(*like);
      return;
    }
    const int count = r.FieldSize(*message, field);
    const int at = count > 0 ? static_cast<int>(Below(static_cast<size_t>(count))) : -1;
    switch (Below(4)) {
      case 0:
        Add(message, field);
        return;
      case 1:
        if (count == 0) return;
        r.SwapElements(message, field, at, count - 1);
        r.RemoveLast(message, field);
        return;
      case 2:
        if (count == 0) return;
        r.SwapElements(message, field, at, static_cast<int>(Below(static_cast<size_t>(count))));
        return;
      default:
        if (count == 0) return;
        if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) Set(message, field, at);
    }
  }

  // Returns a copy of a random message of the field's type from the model, or null. A copy, because
  // the message may contain the field itself.
  const Message* Like(const FieldDescriptor* field) {
    std::vector<const Message*> like;
    for (const Message* message : messages_) {
      if (message->GetDescriptor() == field->message_type() && message->ByteSizeLong() < 4096)
        like.push_back(message);
    }
    if (like.empty()) return nullptr;
    const Message* chosen = like[Below(like.size())];
    copy_.reset(chosen->New());
    copy_->CopyFrom(*chosen);
    return copy_.get();
  }

  // Appends an element to a repeated field.
  void Add(Message* message, const FieldDescriptor* field) {
    const Reflection& r = *message->GetReflection();
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_MESSAGE: {
        const Message* like = Like(field);
        Message* added = r.AddMessage(message, field);
        if (like != nullptr) added->CopyFrom(*like);
        return;
      }
      case FieldDescriptor::CPPTYPE_STRING:
        r.AddString(message, field, "");
        break;
      case FieldDescriptor::CPPTYPE_INT64:
        r.AddInt64(message, field, 0);
        break;
      case FieldDescriptor::CPPTYPE_INT32:
        r.AddInt32(message, field, 0);
        break;
      case FieldDescriptor::CPPTYPE_UINT64:
        r.AddUInt64(message, field, 0);
        break;
      case FieldDescriptor::CPPTYPE_FLOAT:
        r.AddFloat(message, field, 0);
        break;
      case FieldDescriptor::CPPTYPE_DOUBLE:
        r.AddDouble(message, field, 0);
        break;
      default:
        return;
    }
    Set(message, field, r.FieldSize(*message, field) - 1);
  }

  // Returns a value near `old`, a critical value or a small number.
  int64_t Integer(int64_t old) {
    switch (Below(4)) {
      case 0:
        return static_cast<int64_t>(static_cast<uint64_t>(old) + 1);
      case 1:
        return static_cast<int64_t>(static_cast<uint64_t>(old) - 1);
      case 2:
        return Chance(8) ? std::numeric_limits<int64_t>::min()
                         : kIntegers[Below(std::size(kIntegers))];
      default:
        return static_cast<int64_t>(random_.Below(6));
    }
  }
  double Float() {
    if (Chance(8)) return std::numeric_limits<double>::quiet_NaN();
    if (Chance(8)) return std::numeric_limits<double>::infinity();
    return kFloats[Below(std::size(kFloats))];
  }
  // Returns a new string: an operator for op_type, a known name, a string of the model, or mutated
  // text.
  std::string Text(const FieldDescriptor* field, std::string old) {
    if (field->name() == "op_type" && !Chance(4)) return operators_[Below(operators_.size())];
    if (field->type() == FieldDescriptor::TYPE_STRING && !Chance(4)) {
      if (Chance(3) || strings_.empty()) return kNames[Below(std::size(kNames))];
      return strings_[Below(strings_.size())];
    }
    const size_t size = old.size(), most = size + 16;
    old.resize(most);
    old.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(old.data()), size, most));
    return old;
  }

  // Sets a scalar field to a new value. `at` is the index in a repeated field, -1 otherwise.
  void Set(Message* message, const FieldDescriptor* field, int at) {
    const Reflection& r = *message->GetReflection();
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT64: {
        const int64_t old =
            at < 0 ? r.GetInt64(*message, field) : r.GetRepeatedInt64(*message, field, at);
        at < 0 ? r.SetInt64(message, field, Integer(old))
               : r.SetRepeatedInt64(message, field, at, Integer(old));
        return;
      }
      case FieldDescriptor::CPPTYPE_INT32: {
        const int32_t old =
            at < 0 ? r.GetInt32(*message, field) : r.GetRepeatedInt32(*message, field, at);
        const auto value = static_cast<int32_t>(Integer(old));
        at < 0 ? r.SetInt32(message, field, value) : r.SetRepeatedInt32(message, field, at, value);
        return;
      }
      case FieldDescriptor::CPPTYPE_UINT64: {
        const auto value = static_cast<uint64_t>(Integer(0));
        at < 0 ? r.SetUInt64(message, field, value)
               : r.SetRepeatedUInt64(message, field, at, value);
        return;
      }
      case FieldDescriptor::CPPTYPE_FLOAT: {
        const auto value = static_cast<float>(std::min(Float(), 3e38));
        at < 0 ? r.SetFloat(message, field, value) : r.SetRepeatedFloat(message, field, at, value);
        return;
      }
      case FieldDescriptor::CPPTYPE_DOUBLE:
        at < 0 ? r.SetDouble(message, field, Float())
               : r.SetRepeatedDouble(message, field, at, Float());
        return;
      case FieldDescriptor::CPPTYPE_ENUM: {
        const auto* values = field->enum_type();
        const auto* value =
            values->value(static_cast<int>(Below(static_cast<size_t>(values->value_count()))));
        at < 0 ? r.SetEnum(message, field, value) : r.SetRepeatedEnum(message, field, at, value);
        return;
      }
      case FieldDescriptor::CPPTYPE_STRING: {
        const std::string old =
            at < 0 ? r.GetString(*message, field) : r.GetRepeatedString(*message, field, at);
        at < 0 ? r.SetString(message, field, Text(field, old))
               : r.SetRepeatedString(message, field, at, Text(field, old));
        return;
      }
      default:
        return;
    }
  }

  onnx::ModelProto* model_;
  kiln::Random random_;
  std::vector<Message*> messages_;
  std::vector<std::string> strings_;
  std::vector<std::string> operators_;
  std::unique_ptr<Message> copy_;
};

// Serialises the model; returns its size, or 0 if it exceeds `max_size`.
size_t Store(const onnx::ModelProto& model, uint8_t* bytes, size_t max_size) {
  const size_t size = model.ByteSizeLong();
  if (size > max_size || !model.SerializePartialToArray(bytes, static_cast<int>(size))) return 0;
  return size;
}

}  // namespace

// libFuzzer's hook for mutations.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* bytes, size_t size, size_t max_size,
                                          unsigned seed) {
  onnx::ModelProto model;
  if (seed % 4 != 0 && model.ParsePartialFromArray(bytes, static_cast<int>(size))) {
    Mutator(&model, seed).Mutate();
    if (const size_t stored = Store(model, bytes, max_size); stored > 0) return stored;
  }
  return LLVMFuzzerMutate(bytes, size, max_size);
}

// libFuzzer's hook for crossing two inputs: the first model with some of the second's nodes,
// constants, inputs, outputs and functions.
extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* bytes1, size_t size1,
                                            const uint8_t* bytes2, size_t size2, uint8_t* out,
                                            size_t max_size, unsigned seed) {
  onnx::ModelProto model, other;
  if (!model.ParsePartialFromArray(bytes1, static_cast<int>(size1)) ||
      !other.ParsePartialFromArray(bytes2, static_cast<int>(size2))) {
    return 0;
  }
  kiln::Random random(seed);
  const auto some = [&](const auto& from, auto* to) {
    for (const auto& item : from) {
      if (random.Below(2) == 0) *to->Add() = item;
    }
  };
  some(other.graph().node(), model.mutable_graph()->mutable_node());
  some(other.graph().initializer(), model.mutable_graph()->mutable_initializer());
  some(other.graph().input(), model.mutable_graph()->mutable_input());
  some(other.graph().output(), model.mutable_graph()->mutable_output());
  some(other.functions(), model.mutable_functions());
  return Store(model, out, max_size);
}
