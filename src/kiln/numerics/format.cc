// Builds formats from the rows of formats.def, from systematic names (int5, e5m10, posit8_1) and
// from modifiers (".toward_zero.wrap").

#include "kiln/numerics/format.h"

#include <absl/strings/ascii.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "kiln/numerics/codebook.h"
#include "kiln/numerics/rule.h"

namespace kiln {
namespace {

// Return formats of each kind with the given parameters; the macros of AllFormats call them.
Format Integer(std::string name, int bits, bool is_signed, int fraction_bits, bool narrow) {
  Format f{
      .name = std::move(name), .kind = FormatKind::kInteger, .bits = bits, .is_signed = is_signed};
  f.fraction_bits = fraction_bits;
  f.narrow = narrow;
  return f;
}

Format Float(std::string name, int bits, bool is_signed, int exponent_bits, int fraction_bits,
             int bias, Specials specials, LowExponent low, Overflow overflow) {
  Format f{
      .name = std::move(name), .kind = FormatKind::kFloat, .bits = bits, .is_signed = is_signed};
  f.exponent_bits = exponent_bits;
  f.fraction_bits = fraction_bits;
  f.bias = bias;
  f.specials = specials;
  f.low_exponent = low;
  f.overflow = overflow;
  return f;
}

Format Posit(std::string name, int bits, int es) {
  Format f{.name = std::move(name), .kind = FormatKind::kPosit, .bits = bits};
  f.exponent_bits = es;
  return f;
}

Format FromCodebook(std::string name, int bits, std::vector<float> values) {
  Format f{.name = std::move(name), .kind = FormatKind::kCodebook, .bits = bits};
  f.codebook = new Codebook{.values = std::move(values), .file = {}};
  return f;
}

// Removes `prefix` from the front of `text`. Returns whether it was there.
bool Take(std::string_view* text, std::string_view prefix) {
  if (!text->starts_with(prefix)) return false;
  text->remove_prefix(prefix.size());
  return true;
}

// Removes a decimal number without leading zeros, at most `most`, from the front of `text`.
bool TakeNumber(std::string_view* text, int most, int* value) {
  const char* const begin = text->begin();
  const auto [rest, error] = std::from_chars(begin, text->end(), *value);
  const bool leading_zero = rest - begin > 1 && text->front() == '0';
  if (error != std::errc() || text->front() == '-' || leading_zero || *value > most) return false;
  text->remove_prefix(static_cast<size_t>(rest - begin));
  return true;
}

// Parses "e5m10" or "ue4m3": a float in the style of IEEE 754.
std::optional<Format> ParseFloatName(std::string_view name) {
  std::string_view rest = name;
  const bool is_signed = !Take(&rest, "u");
  int exponent = 0, fraction = 0;
  if (!Take(&rest, "e") || !TakeNumber(&rest, 8, &exponent) || !Take(&rest, "m") ||
      !TakeNumber(&rest, 23, &fraction) || !rest.empty() || exponent < 1) {
    return std::nullopt;
  }
  const int bits = exponent + fraction + (is_signed ? 1 : 0);
  // IEEE specials need an exponent field between those of zero and infinity, and a fraction bit
  // that distinguishes NaN from infinity.
  const bool has_specials = exponent > 1 && fraction > 0;
  return Float(std::string(name), bits, is_signed, exponent, fraction, (1 << (exponent - 1)) - 1,
               has_specials ? Specials::kIeee : Specials::kNone, LowExponent::kSubnormal,
               has_specials ? Overflow::kInfinity : Overflow::kSaturate);
}

// Parses "posit<N>_<es>".
std::optional<Format> ParsePositName(std::string_view name) {
  std::string_view rest = name;
  int bits = 0, es = 0;
  if (!Take(&rest, "posit") || !TakeNumber(&rest, 32, &bits) || !Take(&rest, "_") ||
      !TakeNumber(&rest, 30, &es) || !rest.empty() || bits < 2) {
    return std::nullopt;
  }
  return Posit(std::string(name), bits, es);
}

// Parses "int<N>", "uint<N>", "fixed<N>_<F>" and "ufixed<N>_<F>".
std::optional<Format> ParseIntegerName(std::string_view name) {
  std::string_view rest = name;
  const bool is_signed = !Take(&rest, "u");
  int bits = 0, fraction = 0;
  if (Take(&rest, "int")) {
    if (!TakeNumber(&rest, 32, &bits)) return std::nullopt;
  } else if (!Take(&rest, "fixed") || !TakeNumber(&rest, 32, &bits) || !Take(&rest, "_") ||
             !TakeNumber(&rest, 63, &fraction)) {
    return std::nullopt;
  }
  if (!rest.empty() || bits < 1) return std::nullopt;
  return Integer(std::string(name), bits, is_signed, fraction, false);
}

// Finds a format by its name without modifiers. Rows of formats.def have priority: e4m3 is the OCP
// format, not the IEEE-style float of that name.
std::optional<Format> FindUnmodified(std::string_view name) {
  for (const Format& format : AllFormats()) {
    if (format.name == name) return format;
  }
  if (const Format* format = internal::FindRegisteredFormat(name)) return *format;
  if (auto format = ParseIntegerName(name)) return format;
  if (auto format = ParsePositName(name)) return format;
  return ParseFloatName(name);
}

// The modifiers of format names.
constexpr std::pair<std::string_view, Rounding> kRoundingNames[] = {
    {"nearest_even", Rounding::kNearestEven},
    {"nearest_away", Rounding::kNearestAway},
    {"toward_zero", Rounding::kTowardZero},
    {"down", Rounding::kDown},
    {"stochastic", Rounding::kStochastic}};
constexpr std::pair<std::string_view, Overflow> kOverflowNames[] = {
    {"saturate", Overflow::kSaturate},
    {"wrap", Overflow::kWrap},
    {"infinity", Overflow::kInfinity}};

constexpr std::pair<std::string_view, Specials> kSpecialsNames[] = {
    {"finite", Specials::kNone}, {"nan_only", Specials::kNanOnly}, {"fnuz", Specials::kFnuz}};

// The properties that modifiers have set so far; each may be set once.
struct Said {
  bool rounding = false, overflow = false, flush = false, specials = false;
};

// Returns the error that a format cannot have a modifier.
Status Cannot(const Format& format, std::string_view word, std::string_view remedy) {
  return ErrorAt("", "", fmt::format("'{}' has no meaning for '{}'", word, format.name),
                 std::string(remedy));
}

// Check that a format can have a modifier. Errors name the modifier (`word`).
Status CheckOverflow(const Format& format, std::string_view word, Overflow overflow) {
  if (overflow == Overflow::kWrap && !format.is_integer())
    return Cannot(format, word, "only integers wrap");
  if (overflow == Overflow::kInfinity &&
      (format.kind != FormatKind::kFloat || format.specials == Specials::kNone)) {
    return Cannot(format, word, "only floats with infinity or NaN overflow to it");
  }
  return OkStatus();
}

Status CheckSpecials(const Format& format, std::string_view word, Specials specials) {
  if (format.kind != FormatKind::kFloat) return Cannot(format, word, "only floats have specials");
  if (specials == Specials::kFnuz && !format.is_signed) {
    return Cannot(format, word, "only signed floats have a minus zero");
  }
  // With a single magnitude bit, no value but zero would remain.
  if (format.bits - (format.is_signed ? 1 : 0) < 2)
    return Cannot(format, word, "a float of more bits");
  return OkStatus();
}

Status CheckFlush(const Format& format, std::string_view word) {
  if (format.kind == FormatKind::kFloat && format.low_exponent != LowExponent::kNormal)
    return OkStatus();
  return Cannot(format, word, "only floats have subnormals");
}

// Marks a property as set. Errors: it was set before.
Status Once(std::string_view word, bool* said) {
  if (*said)
    return ErrorAt("", "", fmt::format("'{}' says a second time what was said", word), "each once");
  *said = true;
  return OkStatus();
}

// Applies one modifier to a format. Errors: unknown, set twice, impossible for the format.
Status Modify(Format& format, std::string_view word, Said& said) {
  for (const auto& [name, rounding] : kRoundingNames) {
    if (word != name) continue;
    format.rounding = rounding;
    return Once(word, &said.rounding);
  }
  for (const auto& [name, overflow] : kOverflowNames) {
    if (word != name) continue;
    KILN_RETURN_IF_ERROR(CheckOverflow(format, word, overflow));
    format.overflow = overflow;
    return Once(word, &said.overflow);
  }
  for (const auto& [name, specials] : kSpecialsNames) {
    if (word != name) continue;
    KILN_RETURN_IF_ERROR(CheckSpecials(format, word, specials));
    // kFnuz formats have a bias one higher than their IEEE counterparts (e4m3_fnuz, e5m2_fnuz).
    if (specials == Specials::kFnuz && format.specials != Specials::kFnuz) ++format.bias;
    format.specials = specials;
    return Once(word, &said.specials);
  }
  if (word == "flush") {
    KILN_RETURN_IF_ERROR(CheckFlush(format, word));
    format.low_exponent = LowExponent::kZero;
    return Once(word, &said.flush);
  }
  return ErrorAt("", "", fmt::format("unknown modifier '{}' of a format", word),
                 "nearest_even, nearest_away, toward_zero, down, stochastic, saturate, wrap, "
                 "infinity, flush, finite, "
                 "nan_only, fnuz");
}

// Applies modifiers separated by dots.
Status ModifyAll(Format& format, std::string_view words) {
  Said said;
  for (size_t begin = 0; begin <= words.size();) {
    const size_t end = std::min(words.find('.', begin), words.size());
    KILN_RETURN_IF_ERROR(Modify(format, words.substr(begin, end - begin), said));
    begin = end + 1;
  }
  // After "finite" or similar modifiers an overflow to infinity that the name did not ask for
  // becomes saturation.
  if (format.kind == FormatKind::kFloat && format.specials == Specials::kNone &&
      format.overflow == Overflow::kInfinity) {
    if (said.overflow)
      return ErrorAt("", "", fmt::format("'{}' has no infinity to overflow to", format.name),
                     "saturate");
    format.overflow = Overflow::kSaturate;
  }
  return OkStatus();
}

// Returns the canonical name: the plain name and the modifiers that differ from the plain format,
// in a fixed order. Formats are equal if their canonical names are.
std::string CanonicalName(const Format& plain, const Format& modified) {
  std::string name = plain.name;
  for (const auto& [word, specials] : kSpecialsNames) {
    if (modified.specials == specials && specials != plain.specials)
      name += fmt::format(".{}", word);
  }
  for (const auto& [word, rounding] : kRoundingNames) {
    if (modified.rounding == rounding && rounding != plain.rounding)
      name += fmt::format(".{}", word);
  }
  for (const auto& [word, overflow] : kOverflowNames) {
    if (modified.overflow == overflow && overflow != plain.overflow)
      name += fmt::format(".{}", word);
  }
  if (modified.low_exponent != plain.low_exponent) name += ".flush";
  return name;
}

}  // namespace

const std::vector<Format>& AllFormats() {
  static const auto* const formats = new auto([] {
    std::vector<Format> rows = {
#define KILN_INTEGER(name, ...) Integer(#name, __VA_ARGS__),
#define KILN_FLOAT(name, bits, is_signed, exponent, fraction, bias, specials, low, overflow)    \
  Float(#name, bits, is_signed, exponent, fraction, bias, Specials::specials, LowExponent::low, \
        Overflow::overflow),
#define KILN_POSIT(name, bits, es) Posit(#name, bits, es),
#define KILN_CODEBOOK(name, bits, ...) FromCodebook(#name, bits, {__VA_ARGS__}),
#include "kiln/numerics/formats.def"
#undef KILN_INTEGER
#undef KILN_FLOAT
#undef KILN_POSIT
#undef KILN_CODEBOOK
    };
    for (Format& format : internal::BuiltInRules()) rows.push_back(std::move(format));
    return rows;
  }());
  return *formats;
}

StatusOr<Format> FindFormat(std::string_view name) {
  constexpr std::string_view kYaml = ".yaml";
  const size_t yaml = name.find(kYaml);
  const size_t dot = name.find('.', yaml == name.npos ? 0 : yaml + kYaml.size());
  Format plain;
  if (yaml != name.npos) {
    KILN_ASSIGN_OR_RETURN(plain, LoadCodebook(std::string(name.substr(0, dot))));
  } else if (std::optional<Format> found = FindUnmodified(name.substr(0, dot))) {
    plain = *std::move(found);
  } else {
    if (std::ranges::count(MicroscalingTypes(), name) > 0) {
      const QuantType type = *FindQuantType(name);
      return ErrorAt("", "", fmt::format("'{}' is a type with blocks, not a number format", name),
                     fmt::format("its elements are {}, in blocks of {} with scales in {}",
                                 type.format.name, type.block_size, type.scale_format.name));
    }
    const std::string lower = absl::AsciiStrToLower(std::string(name.substr(0, dot)));
    return ErrorAt("", "", fmt::format("unknown format '{}'", name),
                   FindUnmodified(lower).has_value() ? fmt::format("did you mean '{}'?", lower)
                                                     : "a name that 'kiln list formats' prints");
  }
  Format format = plain;
  if (dot != name.npos) KILN_RETURN_IF_ERROR(ModifyAll(format, name.substr(dot + 1)));
  format.name = CanonicalName(plain, format);
  return format;
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
  for (Scheme scheme :
       {Scheme::kNone, Scheme::kPerTensor, Scheme::kPerChannel, Scheme::kPerBlock}) {
    if (NameOf(scheme) == name) return scheme;
  }
  return ErrorAt("", "", "unknown scheme '" + std::string(name) + "'",
                 "one of: none, per_tensor, per_channel, per_block");
}

namespace {

// The concrete MX-compliant formats: their names, and the formats of their elements.
constexpr std::pair<std::string_view, std::string_view> kMicroscaling[] = {
    {"mxint8", "fixed8_6"}, {"mxfp8_e4m3", "e4m3"}, {"mxfp8_e5m2", "e5m2"},
    {"mxfp6_e3m2", "e3m2"}, {"mxfp6_e2m3", "e2m3"}, {"mxfp4", "e2m1"}};

}  // namespace

std::vector<std::string_view> MicroscalingTypes() {
  std::vector<std::string_view> names;
  for (const auto& [name, element] : kMicroscaling) names.push_back(name);
  return names;
}

StatusOr<QuantType> FindQuantType(std::string_view name) {
  constexpr int kMxBlock = 32;  // OCP Microscaling Formats (MX) 1.0, table 1
  for (const auto& [microscaling, element] : kMicroscaling) {
    if (name != microscaling) continue;
    QuantType type{.format = *FindFormat(element), .scheme = Scheme::kPerBlock};
    type.block_size = kMxBlock;
    type.scale_format = *FindFormat("e8m0");
    return type;
  }
  KILN_ASSIGN_OR_RETURN(Format format, FindFormat(name));
  const Scheme scheme = format.is_whole() ? Scheme::kPerTensor : Scheme::kNone;
  return QuantType{.format = std::move(format), .scheme = scheme};
}

}  // namespace kiln
