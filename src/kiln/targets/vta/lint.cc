#include "kiln/targets/vta/lint.h"

#include <algorithm>
#include <map>

#include "fmt/format.h"

namespace kiln::vta {
namespace {

constexpr uint32_t kChiselUops = 2048;             // that its micro-op buffer holds, whatever the configuration says
constexpr size_t kMostTokens = 255;                // that a link of the original's hardware counts
constexpr int kLeastShift = -16, kMostShift = 15;  // of the machine in HLS

// One element of a buffer.
struct Element {
  bool written = false;                   // since the machine was made
  bool stored_alike = false;              // the last to write it also wrote the hardware's output buffer
  size_t writer = 0;                      // of this launch, counted from 1 in its stage; 0: none
  std::array<size_t, kStages> readers{};  // the last of each stage, likewise
};

// A stretch of outer memory that an instruction of this launch has read or written.
struct Access {
  uint64_t begin, end;
  size_t position;  // counted from 1 in its stage
  bool writes;
};

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

  LintResult Run(const ProgramVector& program) {
    DeviceMemory memory(program.base, program.before);
    FunctionalMachine machine(config_);
    for (const ProgramVector::Launch& launch : program.launches) {
      BeginLaunch();
      const auto fault = machine.Launch(memory, launch.address, launch.instructions, StageOrder(0), this);
      if (fault.has_value()) {
        const std::string message = fmt::format("{}: {}", NameOf(fault->kind), fault->message);
        result_.findings.push_back({FindingKind::kFault, launch_, fault->instruction, message});
        break;
      }
      if (!machine.tokens().none_left()) {
        result_.findings.push_back({FindingKind::kTokensLeft, launch_, launch.instructions - 1,
                                    "tokens are left, which the next launch will find"});
      }
      if (machine.tokens().most_in_flight() > kMostTokens) Note("more than 255 tokens in flight");
      ++launch_;
    }
    return std::move(result_);
  }

  void OnInstruction(size_t index, const Instruction& in, const Progress& before, std::span<const Uop> uops) override {
    index_ = index;
    stage_ = StageOf(in);
    before_ = before;
    position_ = before[static_cast<size_t>(stage_)] + 1;
    found_.clear();
    if (in.opcode == Opcode::kLoad && !IsNop(in)) Load(in);
    if (in.opcode == Opcode::kStore && !IsNop(in)) Store(in);
    if (in.opcode == Opcode::kGemm || in.opcode == Opcode::kAlu) Compute(in, uops);
  }

 private:
  void BeginLaunch() {
    for (auto* elements : {&uops_, &inputs_, &weights_, &accumulators_}) {
      for (Element& element : *elements) {
        element.writer = 0;
        element.readers = {};
      }
    }
    for (auto& accesses : accesses_) accesses.clear();
    stored_.clear();
  }

  void Note(const char* reason) {
    result_.hls.insert(reason);
    result_.chisel.insert(reason);
  }
  void Find(FindingKind kind, std::string message) {
    if (!found_.insert(kind).second) return;
    result_.findings.push_back({kind, launch_, index_, std::move(message)});
  }

  // Whether instruction `position` of `stage` is known to be done before this one begins.
  bool Known(Stage stage, size_t position) const {
    return stage == stage_ || position <= before_[static_cast<size_t>(stage)];
  }
  // Only one stage writes into a buffer: load inputs and weights, compute the others.
  static Stage WriterOf(Memory memory) {
    return memory == Memory::kInput || memory == Memory::kWeight ? Stage::kLoad : Stage::kCompute;
  }

  void Read(Memory memory, std::vector<Element>& elements, size_t at) {
    Element& element = elements[at];
    if (!element.written) Find(FindingKind::kUninitialised, fmt::format("{} {} was never written", NameOf(memory), at));
    if (!Known(WriterOf(memory), element.writer)) {
      Find(FindingKind::kRace,
           fmt::format("{} {} is read, and no token says that it has been written", NameOf(memory), at));
    }
    element.readers[static_cast<size_t>(stage_)] = position_;
  }
  void Write(Memory memory, std::vector<Element>& elements, size_t at, bool stored_alike) {
    Element& element = elements[at];
    for (const Stage reader : {Stage::kLoad, Stage::kCompute, Stage::kStore}) {
      if (Known(reader, element.readers[static_cast<size_t>(reader)])) continue;
      Find(FindingKind::kRace,
           fmt::format("{} {} is written, and no token says that {} has read it", NameOf(memory), at, NameOf(reader)));
    }
    element.written = true;
    element.stored_alike = stored_alike;
    element.writer = position_;
  }

  // All rows of a load or store in outer memory.
  void AccessRows(const Instruction& in, bool writes) {
    for (uint32_t y = 0; y < in.y_size; ++y) {
      const uint64_t begin = RowAddress(in, y, config_);
      const Access access{begin, begin + RowBytes(in, config_), position_, writes};
      if (writes) MarkStored(access.begin, access.end);
      for (const Stage other : {Stage::kLoad, Stage::kCompute, Stage::kStore}) {
        const auto& earlier = accesses_[static_cast<size_t>(other)];
        for (auto at = earlier.rbegin(); at != earlier.rend() && !Known(other, at->position); ++at) {
          if (!(at->writes || writes) || at->end <= access.begin || access.end <= at->begin) continue;
          Find(FindingKind::kRace,
               fmt::format("memory at {:#x} is {}, and no token says that {} has {} it", std::max(at->begin, begin),
                           writes ? "written" : "read", NameOf(other), at->writes ? "written" : "read"));
        }
      }
      accesses_[static_cast<size_t>(stage_)].push_back(access);
    }
  }

  void Load(const Instruction& in) {
    const bool pads = (in.x_pad_before | in.x_pad_after | in.y_pad_before | in.y_pad_after) != 0;
    if (in.memory == Memory::kAccumulator8) Note("acc8");
    if (in.y_size == 0) Note("a load of no rows");
    if (in.memory == Memory::kWeight && pads) result_.hls.insert("padding of wgt");
    if (in.memory == Memory::kUop && (pads || in.y_size != 1)) result_.hls.insert("padding or rows of uop");
    AccessRows(in, false);
    const Memory memory = in.memory == Memory::kAccumulator8 ? Memory::kAccumulator : in.memory;
    std::vector<Element>& elements = memory == Memory::kUop      ? uops_
                                     : memory == Memory::kInput  ? inputs_
                                     : memory == Memory::kWeight ? weights_
                                                                 : accumulators_;
    for (size_t i = 0; i < RectangleOf(in); ++i) Write(memory, elements, in.sram_base + i, false);
  }

  void Store(const Instruction& in) {
    if (in.y_size == 0) Note("a store of no rows");
    for (size_t i = 0; i < RectangleOf(in); ++i) {
      Read(Memory::kAccumulator, accumulators_, in.sram_base + i);
      if (!accumulators_[in.sram_base + i].stored_alike) Note("a store of what a load or reset left");
    }
    AccessRows(in, true);
  }
  void MarkStored(uint64_t begin, uint64_t end) {
    // The first stretch that does not end before this one.
    auto at = stored_.upper_bound(begin);
    if (at != stored_.begin() && std::prev(at)->second > begin) --at;
    if (at != stored_.end() && at->first < end) {
      Find(FindingKind::kOverlap,
           fmt::format("memory at {:#x} is stored a second time in this launch", std::max(begin, at->first)));
    }
    for (; at != stored_.end() && at->first < end; at = stored_.erase(at)) {
      begin = std::min(begin, at->first);
      end = std::max(end, at->second);
    }
    stored_[begin] = end;
  }

  void Compute(const Instruction& in, std::span<const Uop> uops) {
    if (uops.empty()) Note("loops or micro-ops of none");
    const bool alu = in.opcode == Opcode::kAlu;
    if (alu) CheckAlu(in, uops);
    for (size_t u = 0; u < uops.size(); ++u) Read(Memory::kUop, uops_, in.uop_begin + u);
    if (!uops.empty() && in.uop_end > kChiselUops) result_.chisel.insert("micro-ops from 2048 on");
    std::array<size_t, 2> before = {SIZE_MAX, SIZE_MAX};  // what the last steps wrote
    for (size_t o = 0; o < in.outer; ++o) {
      for (size_t i = 0; i < in.inner; ++i) {
        for (const Uop& uop : uops) {
          const size_t dst = uop.dst + o * in.dst_outer + i * in.dst_inner;
          const size_t src = uop.src + o * in.src_outer + i * in.src_inner;
          const bool reads_accumulator = alu && !in.use_immediate;
          if (dst == before[0] || dst == before[1]) result_.hazard_free = false;
          if (reads_accumulator && (src == before[0] || src == before[1])) result_.hazard_free = false;
          before = {dst, before[0]};
          if (alu && in.use_immediate && src != dst) result_.chisel.insert("immediate ALU with src other than dst");
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
  std::array<std::vector<Access>, kStages> accesses_;
  std::map<uint64_t, uint64_t> stored_;  // begin to end, apart from each other

  // Of the instruction at hand.
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
    case FindingKind::kTokensLeft:
      return "tokens-left";
  }
  return "?";
}

LintResult Lint(const ProgramVector& program) { return Linter(program.config).Run(program); }

}  // namespace kiln::vta
