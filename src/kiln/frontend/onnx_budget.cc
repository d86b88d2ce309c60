// Implements onnx_budget.h: walks the wire format as protobuf would and adds up the memory that
// protobuf's objects would take, without allocating them. The constants approximate protobuf's data
// structures.
#include "kiln/frontend/onnx_budget.h"

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/message.h>
#include <google/protobuf/wire_format_lite.h>

#include <algorithm>

#include "kiln/support/budgets.h"

namespace kiln {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::io::CodedInputStream;
using WireFormat = google::protobuf::internal::WireFormatLite;

constexpr int kMostDepth = 100;          // protobuf's own limit; deeper messages do not parse
constexpr int64_t kPointerBytes = 8;     // of an entry in a repeated field
constexpr int64_t kStringBytes = 48;     // std::string and the header of its allocation
constexpr int64_t kUnknownBytes = 32;    // an entry of UnknownFieldSet
constexpr int64_t kAllocationBytes = 8;  // the header of a message's allocation
constexpr int64_t kGroupBytes =
    64;  // an UnknownFieldSet of its own, with its first room for entries

// Returns the bytes of an element in memory; 0 for strings and messages.
int64_t ScalarBytes(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
    case FieldDescriptor::CPPTYPE_UINT32:
    case FieldDescriptor::CPPTYPE_FLOAT:
    case FieldDescriptor::CPPTYPE_ENUM:
      return 4;
    case FieldDescriptor::CPPTYPE_INT64:
    case FieldDescriptor::CPPTYPE_UINT64:
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return 8;
    case FieldDescriptor::CPPTYPE_BOOL:
      return 1;
    case FieldDescriptor::CPPTYPE_STRING:
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return 0;
  }
  return 0;
}

// Returns true if protobuf reads a field from this wire type; it keeps other wire types as unknown
// fields.
bool Takes(const FieldDescriptor& field, WireFormat::WireType type) {
  if (type == WireFormat::WireTypeForFieldType(static_cast<WireFormat::FieldType>(field.type())))
    return true;
  return field.is_packable() && type == WireFormat::WIRETYPE_LENGTH_DELIMITED;
}

// Walks encoded messages and adds up memory, up to a limit.
class Walk {
 public:
  Walk(std::string_view bytes, int64_t most)
      : most_(most),
        in_(reinterpret_cast<const uint8_t*>(bytes.data()), static_cast<int>(bytes.size())) {}

  int64_t found() const { return found_; }

  // Adds up the fields up to the end of the message, or of the group if `group` is not 0. `message`
  // is null inside fields that onnx.proto lacks or declares with another wire type. Returns false
  // to stop: the bytes are damaged, or the limit is exceeded.
  bool Message(const Descriptor* message, int depth, int group) {
    if (depth > kMostDepth) return false;
    // One field per iteration, until the message ends or the limit is exceeded.
    while (found_ <= most_) {
      const uint32_t tag = in_.ReadTag();
      if (tag == 0) return group == 0 && in_.ConsumedEntireMessage();
      const int number = WireFormat::GetTagFieldNumber(tag);
      const auto type = WireFormat::GetTagWireType(tag);
      if (type == WireFormat::WIRETYPE_END_GROUP) return number == group;
      const FieldDescriptor* field =
          message == nullptr ? nullptr : message->FindFieldByNumber(number);
      if (field != nullptr && !Takes(*field, type)) field = nullptr;
      if (!Field(field, type, number, depth)) return false;
    }
    return false;
  }

 private:
  // Adds up one field whose tag has been read.
  bool Field(const FieldDescriptor* field, WireFormat::WireType type, int number, int depth) {
    // A list that grows element by element may have twice the capacity it needs.
    const int64_t element = field == nullptr       ? kUnknownBytes
                            : field->is_repeated() ? 2 * ScalarBytes(*field)
                                                   : 0;
    switch (type) {
      case WireFormat::WIRETYPE_VARINT: {
        uint64_t value = 0;
        if (!in_.ReadVarint64(&value)) return false;
        // A number that its enumeration lacks also becomes an unknown field.
        const bool is_odd =
            field != nullptr && field->cpp_type() == FieldDescriptor::CPPTYPE_ENUM &&
            field->enum_type()->FindValueByNumber(static_cast<int>(value)) == nullptr;
        found_ += is_odd ? kUnknownBytes : element;
        return true;
      }
      case WireFormat::WIRETYPE_FIXED64:
        found_ += element;
        return in_.Skip(8);
      case WireFormat::WIRETYPE_FIXED32:
        found_ += element;
        return in_.Skip(4);
      case WireFormat::WIRETYPE_START_GROUP:
        found_ += kUnknownBytes + kGroupBytes;
        return Message(nullptr, depth + 1, number);
      case WireFormat::WIRETYPE_LENGTH_DELIMITED:
        return Delimited(field, depth);
      default:
        return false;
    }
  }

  // Adds up a length-delimited field: string, message or packed numbers.
  // Nested messages are walked; strings, bytes and unknown fields are skipped by their length.
  bool Delimited(const FieldDescriptor* field, int depth) {
    uint32_t length = 0;
    if (!in_.ReadVarint32(&length) || length > static_cast<uint32_t>(INT32_MAX)) return false;
    const int bytes = static_cast<int>(length);
    if (field == nullptr) {
      found_ += kUnknownBytes + kStringBytes;
      return in_.Skip(bytes);
    }
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
      found_ += kPointerBytes + kStringBytes;
      return in_.Skip(bytes);
    }
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      found_ += SizeOf(*field->message_type());
      const auto limit = in_.PushLimit(bytes);
      const bool whole = Message(field->message_type(), depth + 1, 0);
      in_.PopLimit(limit);
      return whole;
    }
    return Packed(*field, bytes);
  }

  // Adds up packed numbers. Numbers of fixed size are as large in memory; varints may grow.
  bool Packed(const FieldDescriptor& field, int bytes) {
    if (field.type() == FieldDescriptor::TYPE_FLOAT ||
        field.type() == FieldDescriptor::TYPE_DOUBLE) {
      return in_.Skip(bytes);
    }
    int64_t count = 0;
    for (int left = bytes; left > 0;) {
      const void* data = nullptr;
      int here = 0;
      if (!in_.GetDirectBufferPointer(&data, &here)) return false;
      here = std::min(here, left);
      const auto* const at = static_cast<const uint8_t*>(data);
      count += std::count_if(at, at + here,
                             // Counts the last byte of each varint, which has no continuation bit.
                             [](uint8_t byte) { return byte < 0x80; });
      in_.Skip(here);
      left -= here;
    }
    found_ += std::max<int64_t>(count * ScalarBytes(field) - bytes, 0);
    return true;
  }

  // Returns the bytes of an empty message in memory.
  static int64_t SizeOf(const Descriptor& message) {
    const auto* const empty =
        google::protobuf::MessageFactory::generated_factory()->GetPrototype(&message);
    return static_cast<int64_t>(empty->SpaceUsedLong()) + kPointerBytes + kAllocationBytes;
  }

  const int64_t most_;
  CodedInputStream in_;
  int64_t found_ = 0;
};

}  // namespace

int64_t StructureBytes(std::string_view bytes, const Descriptor& message, int64_t most) {
  Walk walk(bytes, most);
  walk.Message(&message, 0, 0);
  return walk.found();
}

Status CheckStructure(std::string_view bytes, const std::string& source) {
  if (StructureBytes(bytes, *onnx::ModelProto::descriptor(), budgets::kOnnxStructureBytes) <=
      budgets::kOnnxStructureBytes) {
    return OkStatus();
  }
  return ErrorAt(source, "", "holds too many nodes, attributes, names and numbers",
                 fmt::format("at most {} bytes of memory beyond the size of the file",
                             budgets::kOnnxStructureBytes));
}

}  // namespace kiln
