// Number formats and how a tensor's scales are laid out.
//
//   Format      how one number is encoded: int8, uint4, bf16, ...
//   Scheme      how a tensor's scales are laid out: none, per tensor, per channel, per block
//   QuantType   Format + Scheme (+ symmetric or not)
//
// A code c of an integer format with scale s and zero point z stands for the value s * (c - z).
#ifndef KILN_NUMERICS_FORMAT_H_
#define KILN_NUMERICS_FORMAT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/support/status.h"

namespace kiln {

enum class FormatKind { kInteger, kFloat };

struct Format {
  std::string_view name;
  FormatKind kind = FormatKind::kInteger;
  int bits = 8;  // of one code
  bool is_signed = true;
  int exponent_bits = 0;  // kFloat only
  int fraction_bits = 0;  // kFloat only

  bool is_integer() const { return kind == FormatKind::kInteger; }
  // Least and greatest code of an integer format.
  int64_t min_code() const { return is_signed ? -(int64_t{1} << (bits - 1)) : 0; }
  int64_t max_code() const { return is_signed ? (int64_t{1} << (bits - 1)) - 1 : (int64_t{1} << bits) - 1; }
  int bytes() const { return (bits + 7) / 8; }  // of one code in memory; codes below 8 bits take a byte each
  friend bool operator==(const Format& a, const Format& b) { return a.name == b.name; }
};

// All rows of formats.def, in file order.
const std::vector<Format>& AllFormats();

// The format of that name. Error: unknown name (the message lists the names).
StatusOr<Format> FindFormat(std::string_view name);

enum class Scheme { kNone, kPerTensor, kPerChannel, kPerBlock };
std::string_view NameOf(Scheme scheme);  // "none", "per_tensor", "per_channel", "per_block"
StatusOr<Scheme> FindScheme(std::string_view name);

struct QuantType {
  Format format;
  Scheme scheme = Scheme::kPerTensor;
  bool symmetric = true;  // zero point fixed at 0
  int block_size = 0;     // kPerBlock only
};

}  // namespace kiln

#endif  // KILN_NUMERICS_FORMAT_H_
