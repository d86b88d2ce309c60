// Implements the oracle by tables of exact values and searches in them.
#include "tests/numerics/oracle.h"

#include <algorithm>
#include <map>
#include <regex>

namespace kiln::oracle {
namespace {

mpq_class PowerOfTwo(int64_t exponent) {
  mpz_class power;
  mpz_ui_pow_ui(power.get_mpz_t(), 2, static_cast<unsigned long>(std::abs(exponent)));
  return exponent >= 0 ? mpq_class(power) : mpq_class(1, power);
}

mpz_class Floor(const mpq_class& x) {
  mpz_class floor;
  mpz_fdiv_q(floor.get_mpz_t(), x.get_num_mpz_t(), x.get_den_mpz_t());
  return floor;
}

// The bits [from, from + count) of a code.
uint64_t Bits(uint64_t code, int from, int count) {
  uint64_t value = 0;
  for (int i = count - 1; i >= 0; --i) value = 2 * value + ((code >> (from + i)) % 2);
  return value;
}

mpq_class Decimal(const std::string& text) { return mpq_class(std::stof(text)); }

Spec FloatSpec(int exponent, int fraction, int bias, Spec::Codes codes, bool has_sign = true) {
  Spec s;
  s.kind = Spec::kFloat;
  s.bits = (has_sign ? 1 : 0) + exponent + fraction;
  s.has_sign = has_sign;
  s.exponent = exponent;
  s.fraction = fraction;
  s.bias = bias;
  s.codes = codes;
  return s;
}

Spec ListSpec(int bits, std::vector<mpq_class> list) {
  Spec s;
  s.kind = Spec::kList;
  s.bits = bits;
  s.list = std::move(list);
  return s;
}

// Two to the k eighths, nearest in 24 significant bits: n / 2^23 with (2n - 1)^8 < (2^24)^8 2^k <
// (2n + 1)^8.
mpq_class EighthRoot(int k) {
  const mpz_class target = PowerOfTwo(24 * 8 + k).get_num();
  mpz_class root;
  mpz_root(root.get_mpz_t(), target.get_mpz_t(), 8);  // floor of 2^24 2^(k/8)
  const mpz_class n = (root + 1) / 2;
  return mpq_class(n) / PowerOfTwo(23);
}

std::vector<mpq_class> Logarithms() {
  std::vector<mpq_class> values;
  for (int code = 0; code < 256; ++code) {
    const int sign = code / 128, field = code % 128;
    const int logarithm = field < 64 ? field : field - 128;
    mpq_class value = EighthRoot(((logarithm % 8) + 8) % 8);
    value *= PowerOfTwo((logarithm - ((logarithm % 8) + 8) % 8) / 8);
    if (code == 64) value = 0;
    values.push_back(sign == 1 ? mpq_class(-value) : value);
  }
  return values;
}

std::map<std::string, Spec> MakeSpecs() {
  std::map<std::string, Spec> specs;
  // 754, table 3.5: k bits, bias emax.
  specs["fp32"] = FloatSpec(8, 23, 127, Spec::kIeeeCodes);
  specs["fp16"] = FloatSpec(5, 10, 15, Spec::kIeeeCodes);
  specs["bf16"] = FloatSpec(8, 7, 127, Spec::kIeeeCodes);
  specs["tf32"] = FloatSpec(8, 10, 127, Spec::kIeeeCodes);
  // OFP8, table 1 and 2.
  specs["e4m3"] = FloatSpec(4, 3, 7, Spec::kOneNan);
  specs["e5m2"] = FloatSpec(5, 2, 15, Spec::kIeeeCodes);
  specs["e4m3_ieee"] = FloatSpec(4, 3, 7, Spec::kIeeeCodes);
  specs["e4m3_fnuz"] = FloatSpec(4, 3, 8, Spec::kMinusZeroIsNan);
  specs["e5m2_fnuz"] = FloatSpec(5, 2, 16, Spec::kMinusZeroIsNan);
  // MX, section 5.3.
  specs["e3m2"] = FloatSpec(3, 2, 3, Spec::kAllFinite);
  specs["e2m3"] = FloatSpec(2, 3, 1, Spec::kAllFinite);
  specs["e2m1"] = FloatSpec(2, 1, 1, Spec::kAllFinite);
  // MX, section 5.4.1.
  specs["e8m0"] = FloatSpec(8, 0, 127, Spec::kOneNan, false);
  specs["e8m0"].zero = false;
  specs["ue5m3"] = FloatSpec(5, 3, 15, Spec::kOneNan, false);
  specs["ternary"] = Spec{.kind = Spec::kFixed, .bits = 2, .narrow = true, .list = {}};
  specs["binary"] = ListSpec(1, {mpq_class(-1), mpq_class(1)});
  std::vector<mpq_class> quantiles;
  for (const char* q :
       {"-1.0", "-0.6961928009986877", "-0.5250730514526367", "-0.39491748809814453",
        "-0.28444138169288635", "-0.18477343022823334", "-0.09105003625154495", "0.0",
        "0.07958029955625534", "0.16093020141124725", "0.24611230194568634", "0.33791524171829224",
        "0.44070982933044434", "0.5626170039176941", "0.7229568362236023", "1.0"}) {
    quantiles.push_back(Decimal(q));
  }
  specs["nf4"] = ListSpec(4, quantiles);
  specs["lns8_3"] = ListSpec(8, Logarithms());
  return specs;
}

// Families of names, by their pattern.
bool MakeByPattern(const std::string& name, Spec* spec) {
  std::smatch part;
  const auto number = [&](size_t i) { return std::stoi(part[i]); };
  if (std::regex_match(name, part, std::regex("(u?)(?:int|fixed)([0-9]+)(?:_([0-9]+))?"))) {
    *spec = Spec{
        .kind = Spec::kFixed, .bits = number(2), .has_sign = part[1].length() == 0, .list = {}};
    spec->fraction = part[3].matched ? number(3) : 0;
    return true;
  }
  if (std::regex_match(name, part, std::regex("posit([0-9]+)_([0-9]+)"))) {
    *spec = Spec{.kind = Spec::kPosit, .bits = number(1), .exponent = number(2), .list = {}};
    return true;
  }
  if (std::regex_match(name, part, std::regex("(u?)e([0-9]+)m([0-9]+)"))) {
    const int exponent = number(2), fraction = number(3);
    const int bias =
        static_cast<int>(Floor(PowerOfTwo(exponent - 1)).get_si()) - 1;  // 754, table 3.5
    const bool finite = exponent == 1 || fraction == 0;
    *spec = FloatSpec(exponent, fraction, bias, finite ? Spec::kAllFinite : Spec::kIeeeCodes,
                      part[1].length() == 0);
    return true;
  }
  return false;
}

// The greatest magnitude of a float, as exponent and fraction fields in one number.
int64_t GreatestFields(const Spec& s) {
  const int64_t all = (int64_t{1} << (s.exponent + s.fraction)) - 1;
  switch (s.codes) {
    case Spec::kAllFinite:
    case Spec::kMinusZeroIsNan:
      return all;
    case Spec::kOneNan:
      return all - 1;
    case Spec::kIeeeCodes:
      return all - (int64_t{1} << s.fraction);  // exponent field 2^E - 2, all ones in the fraction
  }
  return 0;
}

// 754, section 3.4; OFP8, section 5.1; MX, section 5.3.
Number FloatValue(const Spec& s, uint64_t code) {
  const uint64_t fraction = Bits(code, 0, s.fraction);
  const uint64_t field = Bits(code, s.fraction, s.exponent);
  const bool minus = s.has_sign && Bits(code, s.bits - 1, 1) == 1;
  const bool ones = field == Bits(~uint64_t{0}, 0, s.exponent);
  Number x{.minus = minus, .value = {}};
  const bool all_ones = ones && fraction == Bits(~uint64_t{0}, 0, s.fraction);
  if (s.codes == Spec::kIeeeCodes && ones)
    x.what = fraction == 0 ? Number::kInfinite : Number::kNan;
  if (s.codes == Spec::kOneNan && all_ones) x.what = Number::kNan;
  if (s.codes == Spec::kMinusZeroIsNan && minus && field == 0 && fraction == 0)
    x.what = Number::kNan;
  if (x.what != Number::kReal) return x;
  const mpq_class part = mpq_class(static_cast<unsigned long>(fraction)) / PowerOfTwo(s.fraction);
  const auto power = static_cast<int64_t>(field) - s.bias;
  if (field == 0 && s.zero) {
    x.value = s.subnormals ? mpq_class(PowerOfTwo(1 - s.bias) * part) : mpq_class(0);
  } else {
    x.value = PowerOfTwo(power) * (1 + part);
  }
  if (minus) x.value = -x.value;
  return x;
}

// PS, section 3: ((1 - 3s) + f) * 2^((1 - 2s) (2^es r + e + s)), on the bits as they stand.
Number PositValue(const Spec& s, uint64_t code) {
  const int n = s.bits;
  if (Bits(code, 0, n) == 0) return Real(0);
  if (Bits(code, 0, n - 1) == 0) return {.what = Number::kNan, .value = {}};
  const auto sign = static_cast<int64_t>(Bits(code, n - 1, 1));
  const auto bit = [&](int i) { return i < 0 ? uint64_t{0} : Bits(code, i, 1); };
  int at = n - 2;
  int64_t length = 0;
  const uint64_t first = bit(at);
  while (at >= 0 && bit(at) == first) --at, ++length;
  const int64_t regime = first == 0 ? -length : length - 1;
  --at;
  int64_t e = 0;
  for (int i = 0; i < s.exponent; ++i, --at) e = 2 * e + static_cast<int64_t>(bit(at));
  const mpq_class f =
      at < 0 ? mpq_class(0) : mpq_class(Bits(code, 0, at + 1)) * PowerOfTwo(-at - 1);
  const int64_t power = (regime << s.exponent) + e + sign;
  return Real((1 - 3 * sign + f) * PowerOfTwo((1 - 2 * sign) * power));
}

}  // namespace

Number Real(const mpq_class& value) { return {.minus = value < 0, .value = value}; }

Number Product(const Number& a, const Number& b) {
  const bool minus = a.minus != b.minus;
  if (a.what == Number::kNan || b.what == Number::kNan) return {.what = Number::kNan, .value = {}};
  if (a.what == Number::kReal && b.what == Number::kReal)
    return {.minus = minus, .value = a.value * b.value};
  const bool has_zero =
      (a.what == Number::kReal && a.value == 0) || (b.what == Number::kReal && b.value == 0);
  if (has_zero) return {.what = Number::kNan, .value = {}};
  return {.what = Number::kInfinite, .minus = minus, .value = {}};
}

Number Sum(const Number& a, const Number& b) {
  if (a.what == Number::kNan || b.what == Number::kNan) return {.what = Number::kNan, .value = {}};
  if (a.what == Number::kInfinite && b.what == Number::kInfinite && a.minus != b.minus) {
    return {.what = Number::kNan, .value = {}};
  }
  if (a.what == Number::kInfinite) return a;
  if (b.what == Number::kInfinite) return b;
  Number sum = Real(a.value + b.value);
  // A zero is negative only as the sum of two negative zeros (754, section 6.3, for roundings other
  // than down).
  if (sum.value == 0) sum.minus = a.minus && b.minus && a.value == 0;
  return sum;
}

const Spec* FindSpec(const std::string& name) {
  static auto* const specs = new std::map<std::string, Spec>(MakeSpecs());
  const auto found = specs->find(name);
  if (found != specs->end()) return &found->second;
  Spec spec;
  if (!MakeByPattern(name, &spec)) return nullptr;
  return &specs->emplace(name, spec).first->second;
}

Number Oracle::ValueIn(const Spec& spec, uint64_t code) {
  switch (spec.kind) {
    case Spec::kFloat:
      return FloatValue(spec, code);
    case Spec::kPosit:
      return PositValue(spec, code);
    case Spec::kList:
      return Real(spec.list[std::min<size_t>(Bits(code, 0, spec.bits), spec.list.size() - 1)]);
    case Spec::kFixed:
      break;
  }
  mpq_class value = 0;
  for (int i = 0; i < spec.bits; ++i) {
    const bool is_sign = spec.has_sign && i == spec.bits - 1;
    if (Bits(code, i, 1) == 1) value += (is_sign ? -1 : 1) * PowerOfTwo(i);
  }
  return Real(value * PowerOfTwo(-spec.fraction));
}

Oracle::Oracle(const Format& format) : rounding_(format.rounding), overflow_(format.overflow) {
  spec_ = *FindSpec(format.name.substr(0, format.name.find('.')));
  if (format.name.find(".flush") != std::string::npos) spec_.subnormals = false;
  if (spec_.bits > 8) return;
  for (uint32_t code = 0; code < 1u << spec_.bits; ++code) {
    const Number x = Value(code);
    if (spec_.kind == Spec::kList && code >= spec_.list.size()) continue;
    if (spec_.narrow && code == 1u << (spec_.bits - 1)) continue;
    // A minus zero is no value of its own, nor are the codes whose subnormal value is flushed.
    const bool flushed = !spec_.subnormals && x.value == 0 && code != 0;
    if (x.what == Number::kReal && !flushed && !(x.value == 0 && x.minus))
      table_.push_back({x.value, code});
  }
  std::sort(table_.begin(), table_.end(),
            [](const Entry& a, const Entry& b) { return a.value < b.value; });
}

int64_t Oracle::Count() const {
  if (!table_.empty()) return static_cast<int64_t>(table_.size());
  if (spec_.kind == Spec::kFixed) return int64_t{1} << spec_.bits;
  if (spec_.kind == Spec::kPosit) return (int64_t{1} << spec_.bits) - 1;
  int64_t magnitudes = GreatestFields(spec_);
  if (!spec_.subnormals) magnitudes -= (int64_t{1} << spec_.fraction) - 1;
  return spec_.has_sign ? 2 * magnitudes + 1 : magnitudes + 1;
}

Oracle::Entry Oracle::At(int64_t rank) const {
  if (!table_.empty()) return table_[static_cast<size_t>(rank)];
  int64_t index = rank;
  if (spec_.has_sign) index -= spec_.kind == Spec::kFixed ? Count() / 2 : (Count() - 1) / 2;
  int64_t code = index;
  if (spec_.kind == Spec::kFloat) {
    int64_t magnitude = std::abs(index);
    if (!spec_.subnormals && magnitude > 0) magnitude += (int64_t{1} << spec_.fraction) - 1;
    code = magnitude + (index < 0 ? int64_t{1} << (spec_.bits - 1) : 0);
  } else if (code < 0) {
    code += int64_t{1} << spec_.bits;
  }
  return {Value(static_cast<uint64_t>(code)).value, static_cast<uint32_t>(code)};
}

int64_t Oracle::RankBelow(const mpq_class& x) const {
  if (!table_.empty()) {
    const auto above = std::upper_bound(
        table_.begin(), table_.end(), x,
        [](const mpq_class& value, const Entry& entry) { return value < entry.value; });
    return above - table_.begin() - 1;
  }
  int64_t low = -1,
          high = Count();  // values of ranks up to low are not above x, from high on they are
  while (high - low > 1) {
    const int64_t middle = (low + high) / 2;
    (At(middle).value <= x ? low : high) = middle;
  }
  return low;
}

uint32_t Oracle::NanCode() const {
  if (spec_.kind == Spec::kPosit) return 1u << (spec_.bits - 1);
  if (spec_.kind != Spec::kFloat || spec_.codes == Spec::kAllFinite) return ZeroCode(false);
  if (spec_.codes == Spec::kMinusZeroIsNan) return 1u << (spec_.bits - 1);
  const auto exponent = static_cast<uint32_t>(Bits(~uint64_t{0}, 0, spec_.exponent))
                        << spec_.fraction;
  if (spec_.codes == Spec::kOneNan)
    return exponent + static_cast<uint32_t>(Bits(~uint64_t{0}, 0, spec_.fraction));
  return exponent + (1u << (spec_.fraction - 1));  // quiet: 754, section 6.2.1
}

uint32_t Oracle::ZeroCode(bool minus) const {
  if (spec_.kind == Spec::kList) {  // the value of least magnitude, of two the positive one
    const auto before = [](const Entry& a, const Entry& b) {
      return abs(a.value) != abs(b.value) ? abs(a.value) < abs(b.value) : a.value > b.value;
    };
    return std::min_element(table_.begin(), table_.end(), before)->code;
  }
  const bool has_minus_zero =
      spec_.kind == Spec::kFloat && spec_.has_sign && spec_.codes != Spec::kMinusZeroIsNan;
  return minus && has_minus_zero ? 1u << (spec_.bits - 1) : 0;
}

uint32_t Oracle::Overflowed(bool minus, bool was_infinite) const {
  const uint32_t greatest = At(minus ? 0 : Count() - 1).code;
  if (overflow_ != Overflow::kInfinity) return greatest;
  // 754, section 7.4.
  const bool inward =
      rounding_ == Rounding::kTowardZero || (rounding_ == Rounding::kDown && !minus);
  if (inward && !was_infinite) return greatest;
  if (spec_.codes == Spec::kAllFinite) return greatest;
  if (spec_.codes != Spec::kIeeeCodes) return NanCode();
  const auto exponent = static_cast<uint32_t>(Bits(~uint64_t{0}, 0, spec_.exponent))
                        << spec_.fraction;
  return exponent + (minus ? 1u << (spec_.bits - 1) : 0);
}

bool Oracle::GoesOut(const mpq_class& part, bool minus, bool inner_is_even, uint32_t random) const {
  if (part == 0) return false;
  const mpq_class half(1, 2);
  switch (rounding_) {
    case Rounding::kNearestEven:
      return part == half ? !inner_is_even : part > half;
    case Rounding::kNearestAway:
      return part >= half;
    case Rounding::kTowardZero:
      return false;
    case Rounding::kDown:
      return minus;
    case Rounding::kStochastic:
      return Floor(part * PowerOfTwo(32)) > random;
  }
  return false;
}

uint32_t Oracle::FixedCode(const Number& x, uint32_t random) const {
  const mpq_class scaled = abs(x.value) * PowerOfTwo(spec_.fraction);
  mpz_class whole = Floor(scaled);
  if (GoesOut(scaled - whole, x.minus, mpz_even_p(whole.get_mpz_t()) != 0, random)) ++whole;
  if (x.minus) whole = -whole;
  const mpq_class value = whole * PowerOfTwo(-spec_.fraction);
  if (overflow_ != Overflow::kWrap) {
    if (value < At(0).value) return At(0).code;
    if (value > At(Count() - 1).value) return At(Count() - 1).code;
  }
  mpz_class code;
  mpz_fdiv_r_2exp(code.get_mpz_t(), whole.get_mpz_t(), static_cast<unsigned long>(spec_.bits));
  return static_cast<uint32_t>(code.get_ui());
}

uint32_t Oracle::FloatCode(const Number& x, uint32_t random) const {
  if (!spec_.has_sign && x.minus) return 0;
  const mpq_class magnitude = abs(x.value);
  const mpq_class greatest = At(Count() - 1).value;
  if (magnitude > greatest) {
    // The next number there would be with one more exponent.
    int64_t power = 0;
    while (PowerOfTwo(power + 1) <= greatest) ++power;
    while (PowerOfTwo(power) > greatest) --power;
    const mpq_class step = PowerOfTwo(power - spec_.fraction);
    const bool even = At(Count() - 1).code % 2 == 0;
    const bool out = magnitude >= greatest + step ||
                     GoesOut((magnitude - greatest) / step, x.minus, even, random);
    return out ? Overflowed(x.minus, false) : At(x.minus ? 0 : Count() - 1).code;
  }
  const int64_t rank = RankBelow(magnitude);
  if (rank < 0) return At(0).code;  // unsigned, below the least number
  Entry near = At(rank);
  if (near.value != magnitude) {
    const Entry far = At(rank + 1);
    if (GoesOut((magnitude - near.value) / (far.value - near.value), x.minus, near.code % 2 == 0,
                random))
      near = far;
  }
  if (near.value == 0) return ZeroCode(x.minus);
  return near.code + (x.minus ? 1u << (spec_.bits - 1) : 0);
}

// PS, section 4: between neighbours u and w stands the posit v of one more bit; x goes to u below v
// and to w above.
uint32_t Oracle::PositCode(const Number& x, uint32_t random) const {
  const mpq_class magnitude = abs(x.value);
  const auto with_sign = [&](uint32_t code) {
    return x.minus ? static_cast<uint32_t>(Bits((uint64_t{1} << spec_.bits) - code, 0, spec_.bits))
                   : code;
  };
  const int64_t rank = RankBelow(magnitude);
  Entry near = At(rank);
  if (near.value == magnitude) return with_sign(near.code);
  if (near.value == 0) return with_sign(1);  // never to zero
  if (rank == Count() - 1) return with_sign(near.code);
  const uint64_t code = near.code;
  Spec finer = spec_;
  bool out = false;
  if (rounding_ == Rounding::kStochastic) {
    // 32 more bits tell which fraction of the step is cut off, and it is above `random` where the
    // posit that has random + 1 in these bits is not above x.
    finer.bits += 32;
    out = ValueIn(finer, (code << 32) + random + 1).value <= magnitude;
  } else {
    ++finer.bits;
    const mpq_class middle = ValueIn(finer, 2 * code + 1).value;
    const mpq_class part = magnitude < middle   ? mpq_class(1, 4)
                           : magnitude > middle ? mpq_class(3, 4)
                                                : mpq_class(1, 2);
    out = GoesOut(part, x.minus, code % 2 == 0, random);
  }
  return with_sign(out ? At(rank + 1).code : near.code);
}

uint32_t Oracle::ListCode(const Number& x, uint32_t random) const {
  const int64_t rank = RankBelow(x.value);
  if (rank < 0) return At(0).code;
  const Entry low = At(rank);
  if (low.value == x.value || rank == Count() - 1) return low.code;
  const Entry high = At(rank + 1);
  const mpq_class from_low = x.value - low.value, from_high = high.value - x.value;
  const mpq_class low_size = abs(low.value), high_size = abs(high.value);
  bool up = false;
  switch (rounding_) {
    case Rounding::kTowardZero:
      up = x.minus;
      break;
    case Rounding::kDown:
      break;
    case Rounding::kStochastic:
      up = Floor(from_low / (high.value - low.value) * PowerOfTwo(32)) > random;
      break;
    case Rounding::kNearestEven:
      up = from_low != from_high ? from_low > from_high : high_size <= low_size;
      break;
    case Rounding::kNearestAway:
      up = from_low != from_high ? from_low > from_high : high_size >= low_size;
      break;
  }
  return up ? high.code : low.code;
}

uint32_t Oracle::Code(const Number& x, uint32_t random) const {
  if (x.what == Number::kNan) return NanCode();
  if (x.what == Number::kInfinite) {
    if (spec_.kind == Spec::kPosit) return NanCode();
    if (!spec_.has_sign && x.minus) return 0;
    return Overflowed(x.minus, true);
  }
  if (x.value == 0 && spec_.zero && spec_.kind != Spec::kList)
    return ZeroCode(x.minus && spec_.has_sign);
  switch (spec_.kind) {
    case Spec::kFixed:
      return FixedCode(x, random);
    case Spec::kFloat:
      return FloatCode(x, random);
    case Spec::kPosit:
      return PositCode(x, random);
    case Spec::kList:
      return ListCode(x, random);
  }
  return 0;
}

}  // namespace kiln::oracle
