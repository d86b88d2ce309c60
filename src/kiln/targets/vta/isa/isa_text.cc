// The assembler and disassembler: converts instructions to lines of text and back.

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <initializer_list>

#include "fmt/format.h"
#include "kiln/support/hex.h"
#include "kiln/targets/vta/isa/isa.h"

namespace kiln::vta {
namespace {

constexpr std::array<std::string_view, 5> kAluNames = {"min", "max", "add", "shr", "mul"};

void CopyTokens(const Instruction& from, Instruction* to) {
  to->pop_previous = from.pop_previous;
  to->pop_next = from.pop_next;
  to->push_previous = from.push_previous;
  to->push_next = from.push_next;
}

std::optional<Stage> NopStage(const Instruction& in) {
  for (const Stage stage : {Stage::kLoad, Stage::kCompute, Stage::kStore}) {
    Instruction nop = NopOf(stage);
    CopyTokens(in, &nop);
    if (nop == in) return stage;
  }
  return std::nullopt;
}

std::string Tokens(const Instruction& in) {
  return fmt::format("{}{}{}{}", in.pop_previous ? 'p' : '-', in.pop_next ? 'n' : '-',
                     in.push_previous ? 'P' : '-', in.push_next ? 'N' : '-');
}

// Returns the text after the tokens, or an empty string if the instruction has no text.
std::string Body(const Instruction& in) {
  if (const auto stage = NopStage(in)) return fmt::format("NOP stage={}", NameOf(*stage));
  const std::string loops =
      fmt::format("uop[{},{}) loop {}x{} dst({},{}) src({},{})", in.uop_begin, in.uop_end, in.outer,
                  in.inner, in.dst_outer, in.dst_inner, in.src_outer, in.src_inner);
  switch (in.opcode) {
    case Opcode::kLoad:
    case Opcode::kStore:
      if (in.memory > Memory::kAccumulator8) return "";
      return fmt::format("{} {} sram={} dram={} y={} x={} stride={} pad(y0,y1,x0,x1)={},{},{},{}",
                         in.opcode == Opcode::kLoad ? "LOAD" : "STORE", NameOf(in.memory),
                         in.sram_base, in.dram_base, in.y_size, in.x_size, in.x_stride,
                         in.y_pad_before, in.y_pad_after, in.x_pad_before, in.x_pad_after);
    case Opcode::kGemm:
      return fmt::format("GEMM {}{} wgt({},{})", in.reset ? "reset " : "", loops, in.weight_outer,
                         in.weight_inner);
    case Opcode::kAlu:
      if (static_cast<size_t>(in.alu) >= kAluNames.size() || in.reset) return "";
      if (!in.use_immediate && in.immediate != 0) return "";
      return fmt::format("ALU {}{} {}", kAluNames[static_cast<size_t>(in.alu)],
                         in.use_immediate ? fmt::format(" imm={}", in.immediate) : "", loops);
    case Opcode::kFinish:
      return "FINISH";
  }
  return "";
}

// Reads a line from left to right and keeps the first error.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) { Blanks(); }

  bool ok() const { return fault_.empty(); }
  const std::string& fault() const { return fault_; }
  bool at_end() const { return rest_.empty(); }
  // Consumes `text` and returns true if the rest of the line begins with it.
  bool Take(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    Blanks();
    return true;
  }
  void Expect(std::string_view text) {
    if (!Take(text)) Fail(fmt::format("'{}' expected before '{}'", text, shown()));
  }
  // Reads a number: decimal, or hexadecimal with a prefix 0x unless `decimal` is set.
  template <typename T>
  void Number(T* value, bool decimal = false) {
    int64_t wide = 0;
    const bool hex = !decimal && (rest_.starts_with("0x") || rest_.starts_with("0X"));
    const char* const begin = rest_.data() + (hex ? 2 : 0);
    const auto [end, error] =
        std::from_chars(begin, rest_.data() + rest_.size(), wide, hex ? 16 : 10);
    // Numbers beyond 32 bits are refused here, before the conversion to T could wrap them.
    if (error != std::errc() || (hex && *begin == '-') || wide < INT32_MIN ||
        wide > int64_t{UINT32_MAX}) {
      Fail(fmt::format("a number expected before '{}'", shown()));
      return;
    }
    *value = static_cast<T>(wide);
    if (static_cast<int64_t>(*value) != wide) Fail(fmt::format("{} is no count", wide));
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    Blanks();
  }
  // Reads two numbers with the text before, between and after them, for example "dst(1,2)".
  template <typename T>
  void Pair(std::string_view open, T* a, std::string_view between, T* b, std::string_view close) {
    Expect(open);
    Number(a);
    Expect(between);
    Number(b);
    Expect(close);
  }
  void Fail(std::string fault) {
    if (fault_.empty()) fault_ = std::move(fault);
  }
  std::string_view rest() const { return rest_; }
  // Returns the rest of the line for messages, shortened because lines of a file that is not a
  // program may have any length.
  std::string shown() const {
    constexpr size_t kMost = 60;
    return rest_.size() <= kMost ? std::string(rest_) : std::string(rest_.substr(0, kMost)) + "...";
  }

 private:
  void Blanks() {
    while (!rest_.empty() &&
           (rest_.front() == ' ' || rest_.front() == '\t' || rest_.front() == '\r')) {
      rest_.remove_prefix(1);
    }
    while (!rest_.empty() &&
           (rest_.back() == ' ' || rest_.back() == '\t' || rest_.back() == '\r')) {
      rest_.remove_suffix(1);
    }
  }

  std::string_view rest_;
  std::string fault_;
};

void ReadTokens(Reader& reader, Instruction* in) {
  const std::string_view text = reader.rest().substr(0, 4);
  constexpr std::string_view kLetters = "pnPN";
  std::array<bool*, 4> bits = {&in->pop_previous, &in->pop_next, &in->push_previous,
                               &in->push_next};
  bool right = text.size() == bits.size();
  for (size_t i = 0; right && i < bits.size(); ++i) {
    right = text[i] == kLetters[i] || text[i] == '-';
    *bits[i] = text[i] == kLetters[i];
  }
  if (!right) {
    reader.Fail(fmt::format("'{}' are no tokens; p n P N or - in that order, as in p--N", text));
    return;
  }
  reader.Take(text);
}

void ReadMemory(Reader& reader, Instruction* in) {
  bool found = false;
  // acc8 comes before acc, which is a prefix of it.
  for (const Memory memory : {Memory::kAccumulator8, Memory::kUop, Memory::kWeight, Memory::kInput,
                              Memory::kAccumulator, Memory::kOutput}) {
    if (found || !reader.Take(NameOf(memory))) continue;
    in->memory = memory;
    found = true;
  }
  if (!found)
    reader.Fail(fmt::format("'{}' is no memory; uop, wgt, inp, acc, acc8 or out", reader.shown()));
  const auto number = [&](std::string_view name, uint32_t* value) {
    reader.Expect(name);
    reader.Number(value);
  };
  number("sram=", &in->sram_base);
  number("dram=", &in->dram_base);
  number("y=", &in->y_size);
  number("x=", &in->x_size);
  number("stride=", &in->x_stride);
  number("pad(y0,y1,x0,x1)=", &in->y_pad_before);
  number(",", &in->y_pad_after);
  number(",", &in->x_pad_before);
  number(",", &in->x_pad_after);
}

void ReadLoops(Reader& reader, Instruction* in) {
  reader.Pair("uop[", &in->uop_begin, ",", &in->uop_end, ")");
  reader.Expect("loop");
  reader.Number(&in->outer, /*decimal=*/true);  // "0x3" means zero times three, not hexadecimal
  reader.Expect("x");
  reader.Number(&in->inner);
  reader.Pair("dst(", &in->dst_outer, ",", &in->dst_inner, ")");
  reader.Pair("src(", &in->src_outer, ",", &in->src_inner, ")");
}

void ReadAlu(Reader& reader, Instruction* in) {
  bool found = false;
  for (size_t i = 0; i < kAluNames.size(); ++i) {
    if (found || !reader.Take(kAluNames[i])) continue;
    in->alu = static_cast<AluOp>(i);
    found = true;
  }
  if (!found)
    reader.Fail(fmt::format("'{}' is no operation; min, max, add, shr or mul", reader.shown()));
  in->use_immediate = reader.Take("imm=");
  if (in->use_immediate) reader.Number(&in->immediate);
  ReadLoops(reader, in);
}

void ReadBody(Reader& reader, Instruction* in) {
  if (reader.Take("FINISH")) {
    in->opcode = Opcode::kFinish;
  } else if (reader.Take("NOP")) {
    reader.Expect("stage=");
    for (const Stage stage : {Stage::kLoad, Stage::kCompute, Stage::kStore}) {
      if (!reader.Take(NameOf(stage))) continue;
      Instruction nop = NopOf(stage);
      CopyTokens(*in, &nop);
      *in = nop;
      return;
    }
    reader.Fail(fmt::format("'{}' is no stage; load, compute or store", reader.shown()));
  } else if (reader.Take("LOAD")) {
    in->opcode = Opcode::kLoad;
    ReadMemory(reader, in);
  } else if (reader.Take("STORE")) {
    in->opcode = Opcode::kStore;
    ReadMemory(reader, in);
  } else if (reader.Take("GEMM")) {
    in->opcode = Opcode::kGemm;
    in->reset = reader.Take("reset");
    ReadLoops(reader, in);
    reader.Pair("wgt(", &in->weight_outer, ",", &in->weight_inner, ")");
  } else if (reader.Take("ALU")) {
    in->opcode = Opcode::kAlu;
    ReadAlu(reader, in);
  } else {
    reader.Fail(fmt::format("'{}' is no instruction; LOAD, STORE, GEMM, ALU, NOP, FINISH or raw",
                            reader.shown()));
  }
}

StatusOr<Encoding::Bytes> ReadRaw(const Reader& reader) {
  const std::string_view digits = reader.rest();
  const bool prefixed = digits.starts_with("0x") || digits.starts_with("0X");
  const auto parsed = ParseHex(prefixed ? digits.substr(2) : digits);
  Encoding::Bytes bytes{};
  if (!parsed.has_value() || parsed->size() != bytes.size()) {
    return absl::InvalidArgumentError(fmt::format("'{}' are not 32 hex digits", reader.shown()));
  }
  std::copy(parsed->begin(), parsed->end(), bytes.begin());
  return bytes;
}

}  // namespace

std::string Disassemble(std::span<const uint8_t, kInstructionBytes> bytes,
                        const Encoding& encoding) {
  const Instruction in = encoding.Decode(bytes);
  const std::string body = Body(in);
  const bool whole =
      !body.empty() && std::memcmp(encoding.Encode(in).data(), bytes.data(), bytes.size()) == 0;
  return whole ? Tokens(in) + " " + body : "raw " + HexOf(bytes);
}

StatusOr<Encoding::Bytes> AssembleLine(std::string_view line, const Encoding& encoding) {
  Reader reader(line);
  if (reader.Take("raw")) return ReadRaw(reader);
  Instruction in;
  ReadTokens(reader, &in);
  if (reader.ok()) ReadBody(reader, &in);
  if (reader.ok() && !reader.at_end())
    reader.Fail(fmt::format("'{}' behind the end", reader.shown()));
  if (!reader.ok()) return absl::InvalidArgumentError(reader.fault());
  if (const auto misfit = encoding.FindMisfit(in)) return absl::InvalidArgumentError(*misfit);
  return encoding.Encode(in);
}

StatusOr<std::vector<uint8_t>> Assemble(std::string_view text, std::string_view source,
                                        const Encoding& encoding, std::vector<size_t>* lines) {
  std::vector<uint8_t> program;
  for (size_t line = 1; !text.empty(); ++line) {
    const size_t end = text.find('\n');
    std::string_view content = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    content = content.substr(0, content.find('#'));
    if (content.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const auto bytes = AssembleLine(content, encoding);
    if (!bytes.ok())
      return ErrorAt(source, fmt::format("line {}", line), MessageOf(bytes.status()), "");
    program.insert(program.end(), bytes->begin(), bytes->end());
    if (lines != nullptr) lines->push_back(line);
  }
  return program;
}

}  // namespace kiln::vta
