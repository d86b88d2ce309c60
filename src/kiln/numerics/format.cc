#include "kiln/numerics/format.h"

namespace kiln {

const std::vector<Format>& AllFormats() {
  static const std::vector<Format>* formats = new std::vector<Format>{
#define KILN_INTEGER(name, bits, is_signed) Format{#name, FormatKind::kInteger, bits, is_signed, 0, 0},
#define KILN_FLOAT(name, bits, exponent, fraction) Format{#name, FormatKind::kFloat, bits, true, exponent, fraction},
#include "kiln/numerics/formats.def"
#undef KILN_INTEGER
#undef KILN_FLOAT
  };
  return *formats;
}

StatusOr<Format> FindFormat(std::string_view name) {
  std::string known;
  for (const Format& format : AllFormats()) {
    if (format.name == name) return format;
    known += known.empty() ? "" : ", ";
    known += format.name;
  }
  return ErrorAt("", "", "unknown format '" + std::string(name) + "'", "one of: " + known);
}

std::string_view NameOf(Scheme scheme) {
  switch (scheme) {
    case Scheme::kNone:
      return "none";
    case Scheme::kPerTensor:
      return "per_tensor";
    case Scheme::kPerChannel:
      return "per_channel";
    case Scheme::kPerBlock:
      return "per_block";
  }
  return "?";
}

StatusOr<Scheme> FindScheme(std::string_view name) {
  for (Scheme scheme : {Scheme::kNone, Scheme::kPerTensor, Scheme::kPerChannel, Scheme::kPerBlock}) {
    if (NameOf(scheme) == name) return scheme;
  }
  return ErrorAt("", "", "unknown scheme '" + std::string(name) + "'",
                 "one of: none, per_tensor, per_channel, per_block");
}

}  // namespace kiln
