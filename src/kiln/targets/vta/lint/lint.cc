// The linter: observes a program at the functional level, or its instructions alone, and tracks the
// accesses to each element and byte that no token orders.

#include "kiln/targets/vta/lint/lint.h"

#include <algorithm>
#include <map>
#include <optional>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "kiln/targets/vta/lint/token_proof.h"
#include "kiln/targets/vta/simulate/functional/fault_rules.h"
#include "kiln/targets/vta/simulate/functional/functional.h"

namespace kiln::vta {
namespace {

constexpr uint32_t kChiselUops =
    2048;  // size of the micro-op buffer in Chisel, whatever the configuration says
constexpr size_t kMostTokens = 255;  // greatest count of a token link in the original's hardware
constexpr uint64_t kAddresses = uint64_t{1} << 32;
constexpr int kLeastShift = -16, kMostShift = 15;  // range of shifts of the machine in HLS

// The last accesses to one element of a buffer.
struct Element {
  uint64_t written = 0;  // number of the last write since the machine was made, from 1; 0: none
  bool stored_alike = false;              // that write also wrote the hardware's output buffer
  bool from_memory = false;               // holds data from external memory
  size_t writer = 0;                      // its position in its stage in this launch; 0: none
  std::array<size_t, kStages> readers{};  // by stage: position of the last reader, likewise
};

// The last instruction of one stage that accessed each byte of external memory in this launch, as
// far as another stage does not know it to be done.
class Pending {
 public:
  // Records that instruction `position`, counted from 1 in its stage, accesses [begin, end).
  // Positions must not decrease.
  void Add(uint64_t begin, uint64_t end, size_t position) {
    if (begin == end) return;
    Split(begin);
    Split(end);
    stretches_.erase(stretches_.lower_bound(begin), stretches_.lower_bound(end));
    stretches_[begin] = {end, position};
  }
  // Returns the first byte of [begin, end) that an instruction after position `known` has accessed.
  // Drops accesses up to `known`, so that each is examined only once.
  std::optional<uint64_t> FindBehind(size_t known, uint64_t begin, uint64_t end) {
    auto at = stretches_.upper_bound(begin);
    if (at != stretches_.begin() && std::prev(at)->second.end > begin) --at;
    while (at != stretches_.end() && at->first < end) {
      if (at->second.position > known) return std::max(at->first, begin);
      at = stretches_.erase(at);
    }
    return std::nullopt;
  }
  void Clear() { stretches_.clear(); }

 private:
  struct Stretch {
    uint64_t end;
    size_t position;
  };
  // Splits the stretch that contains `address` there, unless it begins at `address`.
  void Split(uint64_t address) {
    auto at = stretches_.lower_bound(address);
    if (at == stretches_.begin() || (--at)->second.end <= address) return;
    stretches_[address] = at->second;
    at->second.end = address;
  }

  std::map<uint64_t, Stretch> stretches_;  // by begin; they do not overlap
};

// The linter of one program.
class Linter final : public Observer {
 public:
  explicit Linter(const Config& config)
      : config_(config),
        uops_(static_cast<size_t>(config.uops())),
        inputs_(static_cast<size_t>(config.inputs())),
        weights_(static_cast<size_t>(config.weights())),
        accumulators_(static_cast<size_t>(config.accumulators())) {
    const Config original = *ParseOriginalConfig("{}", "");
    const bool same = config.uop_index_bits() == original.uop_index_bits() &&
                      config.input_index_bits() == original.input_index_bits() &&
                      config.weight_index_bits() == original.weight_index_bits() &&
                      config.accumulator_index_bits() == original.accumulator_index_bits() &&
                      config.batch == original.batch;
    if (!same) result_.chisel.insert("field widths and sizes are fixed");
  }

  LintResult Run(const ProgramVector& program, uint64_t most_steps) {
    DeviceMemory memory(program.base, program.before);
    FunctionalMachine machine(config_);
    machine.set_most_steps(most_steps);
    for (const ProgramVector::Launch& launch : program.launches) {
      BeginLaunch();
      stream_begin_ = launch.address;
      stream_end_ = launch.address + launch.instructions * kInstructionBytes;
      const auto fault =
          machine.Launch(memory, launch.address, launch.instructions, StageOrder(0), this);
      if (fault.has_value()) {
        AddFault(*fault);
        break;
      }
      EndLaunch(machine.tokens(), launch.instructions);
      ++launch_;
    }
    return std::move(result_);
  }

  LintResult RunAlone(std::span<const uint8_t> bytes, uint64_t most_steps) {
    alone_ = true;
    const Encoding encoding(config_);
    std::vector<Instruction> program;
    for (; bytes.size() >= kInstructionBytes; bytes = bytes.subspan(kInstructionBytes)) {
      program.push_back(encoding.Decode(bytes.first<kInstructionBytes>()));
      if (const auto fault = FindStaticFault(program.back(), program.size() - 1, config_))
        AddFault(*fault);
    }
    if (!result_.judged) {
      result_.not_checked = "what instructions do together, as not all can be executed";
      return std::move(result_);
    }
    Tokens tokens;
    uint64_t steps_left = most_steps;
    const auto visit = [&](size_t index, const Progress& before) -> std::optional<Fault> {
      const Instruction& in = program[index];
      // Unknown micro-ops may have any value. Checking zeros finds the faults that all values have,
      // because zeros give the smallest indices.
      if (Computes(in)) {
        if (auto fault = FindUopFault(in, index, config_)) return fault;
        if (auto fault = FindRangeFault(in, index, {}, config_)) return fault;
      }
      const std::vector<Uop> uops(HasSteps(in) ? in.uop_end - in.uop_begin : 0);
      if (auto fault = FindTooLong(in, index, steps_left, most_steps)) return fault;
      steps_left -= CostOf(in);
      OnInstruction(index, in, before, uops);
      return FindAddressFault(in, index);
    };
    if (const auto fault = FindTokenFault(program, tokens, visit)) AddFault(*fault);
    if (result_.judged) EndLaunch(tokens, program.size());
    SayWhatIsNotChecked(program);
    return std::move(result_);
  }

  void OnInstruction(size_t index, const Instruction& in, const Progress& before,
                     std::span<const Uop> uops) override {
    index_ = index;
    stage_ = StageOf(in);
    before_ = before;
    position_ = before[static_cast<size_t>(stage_)] + 1;
    found_.clear();
    if (in.opcode == Opcode::kLoad && !IsNop(in)) Load(in);
    if (in.opcode == Opcode::kStore && !IsNop(in)) Store(in);
    if (Computes(in)) Compute(in, uops);
  }

 private:
  void BeginLaunch() {
    for (auto* elements : {&uops_, &inputs_, &weights_, &accumulators_}) {
      for (Element& element : *elements) {
        element.writer = 0;
        element.readers = {};
      }
    }
    for (Pending* pending :
         {&loads_read_, &computes_read_, &stores_written_for_load_, &stores_written_for_compute_}) {
      pending->Clear();
    }
    stored_.clear();
  }

  void AddFault(const Fault& fault) {
    const std::string message = fmt::format("{}: {}", NameOf(fault.kind), fault.message);
    result_.findings.push_back({FindingKind::kFault, launch_, fault.instruction, message});
    result_.judged = false;
  }
  void EndLaunch(const Tokens& tokens, size_t instructions) {
    if (!tokens.none_left()) {
      result_.findings.push_back({FindingKind::kTokensLeft, launch_, instructions - 1,
                                  "tokens are left, which the next launch will find"});
    }
    if (tokens.most_in_flight() > kMostTokens) Note("more than 255 tokens in flight");
  }

  // ----- a program without its memory

  // Returns a fault if a row is at addresses where no machine has memory.
  std::optional<Fault> FindAddressFault(const Instruction& in, size_t index) const {
    if (!Moves(in)) return std::nullopt;
    for (uint32_t y = 0; y < in.y_size; ++y) {
      const uint64_t begin = RowAddress(in, y, config_), bytes = RowBytes(in, config_);
      if (begin >= DeviceMemory::kPageBytes && begin + bytes <= kAddresses) continue;
      return Fault{
          FaultKind::kDramRange, index,
          fmt::format("{} bytes at {:#x} of {}: memory is from {:#x} to {:#x} at most", bytes,
                      begin, NameOf(in.memory), DeviceMemory::kPageBytes, kAddresses - 1)};
    }
    return std::nullopt;
  }

  void SayWhatIsNotChecked(std::span<const Instruction> program) {
    const auto stores = [](const Instruction& in) {
      return Moves(in) && in.opcode == Opcode::kStore;
    };
    std::vector<std::string> parts;
    if (unknown_ > 0) {
      parts.push_back(
          fmt::format("ranges, races, reads of nothing and hazards of the GEMM and ALU "
                      "instructions whose micro-ops come "
                      "from memory ({} of {})",
                      unknown_, std::ranges::count_if(program, Computes)));
    }
    if (std::ranges::any_of(program, Moves))
      parts.emplace_back("whether there is memory where loads and stores reach");
    if (std::ranges::any_of(program, stores))
      parts.emplace_back("whether stores reach the instructions");
    result_.not_checked = fmt::format("{}", fmt::join(parts, "; "));
    result_.micro_ops_unknown = unknown_ > 0;
  }

  void Note(const char* reason) {
    result_.hls.insert(reason);
    result_.chisel.insert(reason);
  }
  void Find(FindingKind kind, std::string message) {
    if (!found_.insert(kind).second) return;
    result_.findings.push_back({kind, launch_, index_, std::move(message)});
  }

  // Returns whether instruction `position` of `stage` is known to be done before this one begins.
  bool Known(Stage stage, size_t position) const {
    return stage == stage_ || position <= before_[static_cast<size_t>(stage)];
  }
  // Returns the only stage that writes to a buffer: load for inputs and weights, compute for the
  // others.
  static Stage WriterOf(Memory memory) {
    return memory == Memory::kInput || memory == Memory::kWeight ? Stage::kLoad : Stage::kCompute;
  }

  // Returns whether an element has been written. Instructions with unknown micro-ops may have
  // written any accumulator.
  bool IsWritten(Memory memory, const Element& element) const {
    return element.written > 0 || (memory == Memory::kAccumulator && unknown_ > 0);
  }
  bool IsStoredAlike(const Element& element) const {
    return element.stored_alike || (unknown_ > 0 && element.written <= last_unknown_);
  }

  void Read(Memory memory, std::vector<Element>& elements, size_t at) {
    Element& element = elements[at];
    if (!IsWritten(memory, element))
      Find(FindingKind::kUninitialised, fmt::format("{} {} was never written", NameOf(memory), at));
    if (!Known(WriterOf(memory), element.writer)) {
      Find(FindingKind::kRace,
           fmt::format("{} {} is read, and no token says that it has been written", NameOf(memory),
                       at));
    }
    element.readers[static_cast<size_t>(stage_)] = position_;
  }
  void Write(Memory memory, std::vector<Element>& elements, size_t at, bool stored_alike) {
    Element& element = elements[at];
    for (const Stage reader : {Stage::kLoad, Stage::kCompute, Stage::kStore}) {
      if (Known(reader, element.readers[static_cast<size_t>(reader)])) continue;
      Find(FindingKind::kRace,
           fmt::format("{} {} is written, and no token says that {} has read it", NameOf(memory),
                       at, NameOf(reader)));
    }
    element.written = ++writes_;
    element.stored_alike = stored_alike;
    element.writer = position_;
  }

  // Reports a race if an instruction of `stage` that is not known to be done has accessed [begin,
  // end).
  void CheckOrder(Pending& pending, Stage stage, uint64_t begin, uint64_t end) {
    const auto at = pending.FindBehind(before_[static_cast<size_t>(stage)], begin, end);
    if (!at.has_value()) return;
    const bool writes = stage_ == Stage::kStore;
    Find(FindingKind::kRace,
         fmt::format("memory at {:#x} is {}, and no token says that {} has {} it", *at,
                     writes ? "written" : "read", NameOf(stage), writes ? "read" : "written"));
  }
  // Records and checks the accesses of a load or store to external memory. Only stores write.
  void AccessRows(const Instruction& in) {
    for (uint32_t y = 0; y < in.y_size; ++y) {
      const uint64_t begin = RowAddress(in, y, config_), end = begin + RowBytes(in, config_);
      if (stage_ == Stage::kStore) {
        MarkStored(begin, end);
        if (begin < stream_end_ && end > stream_begin_) {
          Find(FindingKind::kStream,
               fmt::format("memory at {:#x} is stored, which holds this launch's instructions",
                           std::max(begin, stream_begin_)));
        }
        CheckOrder(loads_read_, Stage::kLoad, begin, end);
        CheckOrder(computes_read_, Stage::kCompute, begin, end);
        stores_written_for_load_.Add(begin, end, position_);
        stores_written_for_compute_.Add(begin, end, position_);
      } else {
        const bool load = stage_ == Stage::kLoad;
        CheckOrder(load ? stores_written_for_load_ : stores_written_for_compute_, Stage::kStore,
                   begin, end);
        (load ? loads_read_ : computes_read_).Add(begin, end, position_);
      }
    }
  }

  void Load(const Instruction& in) {
    const bool pads = (in.x_pad_before | in.x_pad_after | in.y_pad_before | in.y_pad_after) != 0;
    if (in.memory == Memory::kAccumulator8) Note("acc8");
    if (in.y_size == 0) Note("a load of no rows");
    if (in.memory == Memory::kWeight && pads) result_.hls.insert("padding of wgt");
    if (in.memory == Memory::kUop && (pads || in.y_size != 1))
      result_.hls.insert("padding or rows of uop");
    AccessRows(in);
    const Memory memory = in.memory == Memory::kAccumulator8 ? Memory::kAccumulator : in.memory;
    std::vector<Element>& elements = memory == Memory::kUop      ? uops_
                                     : memory == Memory::kInput  ? inputs_
                                     : memory == Memory::kWeight ? weights_
                                                                 : accumulators_;
    const size_t width = size_t{in.x_pad_before} + in.x_size + in.x_pad_after;
    for (size_t i = 0; i < RectangleOf(in); ++i) {
      Write(memory, elements, in.sram_base + i, false);
      const size_t x = i % width, y = i / width;
      elements[in.sram_base + i].from_memory =
          x >= in.x_pad_before && x < size_t{in.x_pad_before} + in.x_size && y >= in.y_pad_before &&
          y < size_t{in.y_pad_before} + in.y_size;
    }
  }

  void Store(const Instruction& in) {
    if (in.y_size == 0) Note("a store of no rows");
    for (size_t i = 0; i < RectangleOf(in); ++i) {
      Read(Memory::kAccumulator, accumulators_, in.sram_base + i);
      if (!IsStoredAlike(accumulators_[in.sram_base + i]))
        Note("a store of what a load or reset left");
    }
    AccessRows(in);
  }
  void MarkStored(uint64_t begin, uint64_t end) {
    // Start at the first stretch that does not end before this one.
    auto at = stored_.upper_bound(begin);
    if (at != stored_.begin() && std::prev(at)->second > begin) --at;
    if (at != stored_.end() && at->first < end) {
      Find(FindingKind::kOverlap,
           fmt::format("memory at {:#x} is stored a second time in this launch",
                       std::max(begin, at->first)));
    }
    for (; at != stored_.end() && at->first < end; at = stored_.erase(at)) {
      begin = std::min(begin, at->first);
      end = std::max(end, at->second);
    }
    stored_[begin] = end;
  }

  void Compute(const Instruction& in, std::span<const Uop> uops) {
    if (uops.empty()) return Note("loops or micro-ops of none");  // whichever of them is empty
    const bool alu = in.opcode == Opcode::kAlu;
    if (alu) CheckAlu(in, uops);
    if (in.reset && !alu) CheckReset(in, uops);
    for (size_t u = 0; u < uops.size(); ++u) Read(Memory::kUop, uops_, in.uop_begin + u);
    if (in.uop_end > kChiselUops) result_.chisel.insert("micro-ops from 2048 on");
    const auto used = std::span(uops_).subspan(in.uop_begin, uops.size());
    if (alone_ && std::ranges::any_of(used, &Element::from_memory)) {
      ++unknown_;
      last_unknown_ = writes_;
      return;
    }
    std::array<size_t, 2> before = {SIZE_MAX, SIZE_MAX};  // the elements that the last steps wrote
    for (size_t o = 0; o < in.outer; ++o) {
      for (size_t i = 0; i < in.inner; ++i) {
        for (const Uop& uop : uops) {
          const size_t dst = uop.dst + o * in.dst_outer + i * in.dst_inner;
          const size_t src = uop.src + o * in.src_outer + i * in.src_inner;
          const bool reads_accumulator = alu && !in.use_immediate;
          if (dst == before[0] || dst == before[1]) result_.hazard_free = false;
          if (reads_accumulator && (src == before[0] || src == before[1]))
            result_.hazard_free = false;
          before = {dst, before[0]};
          if (alu && in.use_immediate && src != dst)
            result_.chisel.insert("immediate ALU with src other than dst");
          if (reads_accumulator) Read(Memory::kAccumulator, accumulators_, src);
          if (!alu && !in.reset) {
            Read(Memory::kInput, inputs_, src);
            Read(Memory::kWeight, weights_, uop.weight + o * in.weight_outer + i * in.weight_inner);
          }
          if (alu || !in.reset) Read(Memory::kAccumulator, accumulators_, dst);
          Write(Memory::kAccumulator, accumulators_, dst, alu || !in.reset);
        }
      }
    }
  }
  // A reset ignores its other operands, but the original's hardware reads them.
  void CheckReset(Instruction in, std::span<const Uop> uops) {
    in.reset = false;
    if (FindRangeFault(in, index_, MaximumOf(uops), config_))
      Note("a reset with operands out of range");
  }
  void CheckAlu(const Instruction& in, std::span<const Uop> uops) {
    if (uops.empty()) return;
    if (in.alu == AluOp::kMultiply) Note("mul");
    if (in.alu != AluOp::kShiftRight) return;
    if (!in.use_immediate) Note("shift by a tensor");
    const bool far = in.immediate < kLeastShift || in.immediate > kMostShift;
    if (in.use_immediate && far) result_.hls.insert("shift outside [-16,15]");
    if (in.use_immediate && std::abs(in.immediate) > 31) Note("shift by more than 31");
  }

  const Config config_;
  LintResult result_;
  std::vector<Element> uops_, inputs_, weights_, accumulators_;
  // Reads by the load and compute stages that the store stage does not know to be done, and writes
  // by the store stage that the other stages do not know to be done.
  Pending loads_read_, computes_read_, stores_written_for_load_, stores_written_for_compute_;
  std::map<uint64_t, uint64_t> stored_;  // begin to end of stores; the ranges do not overlap
  uint64_t stream_begin_ = 0, stream_end_ = 0;
  uint64_t writes_ = 0;  // number of element writes so far
  // For programs without memory: the number of GEMM and ALU instructions with unknown micro-ops,
  // and the number of the last write before the latest of them.
  bool alone_ = false;
  uint64_t unknown_ = 0, last_unknown_ = 0;

  // The current instruction.
  size_t launch_ = 0, index_ = 0, position_ = 0;
  Stage stage_ = Stage::kCompute;
  Progress before_{};
  std::set<FindingKind> found_;
};

}  // namespace

std::string_view NameOf(FindingKind kind) {
  switch (kind) {
    case FindingKind::kFault:
      return "fault";
    case FindingKind::kRace:
      return "race";
    case FindingKind::kUninitialised:
      return "uninitialised";
    case FindingKind::kOverlap:
      return "overlap";
    case FindingKind::kStream:
      return "stream";
    case FindingKind::kTokensLeft:
      return "tokens-left";
  }
  return "?";
}

LintResult Lint(const ProgramVector& program, uint64_t most_steps) {
  return Linter(program.config).Run(program, most_steps);
}

LintResult LintInstructions(std::span<const uint8_t> instructions, const Config& config,
                            uint64_t most_steps) {
  return Linter(config).RunAlone(instructions, most_steps);
}

}  // namespace kiln::vta
