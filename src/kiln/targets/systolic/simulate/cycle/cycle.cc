// The processes of the cycle level, one for each unit of docs/systolic.md ("Time"). cycle_data.cc
// and cycle_vector.cc compute the bits; isa/timing.h has the durations of steps.
#include "kiln/targets/systolic/simulate/cycle/cycle.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "kiln/hardware/axi_port.h"
#include "kiln/hardware/bus_turns.h"
#include "kiln/hardware/event_kernel.h"
#include "kiln/targets/interface/difference.h"
#include "kiln/targets/systolic/config/derived.h"
#include "kiln/targets/systolic/isa/requests.h"
#include "kiln/targets/systolic/isa/timing.h"
#include "kiln/targets/systolic/isa/units.h"
#include "kiln/targets/systolic/isa/walk.h"
#include "kiln/targets/systolic/simulate/cycle/cycle_data.h"
#include "kiln/targets/systolic/simulate/cycle/cycle_memory.h"
#include "kiln/targets/systolic/simulate/cycle/cycle_recorder.h"
#include "kiln/targets/systolic/simulate/run_steps.h"

namespace kiln::systolic {
namespace {

using hardware::BusTurns;
using hardware::Counter;
using hardware::Part;
using hardware::Process;
using hardware::Queue;
using hardware::Simulator;

// An instruction with everything that is known about it before it runs.
struct Prepared {
  const Instruction* instruction = nullptr;
  Geometry geometry;
  std::vector<Visit> visits;
  int64_t encoded_bytes = 0;
};

std::vector<Prepared> Prepare(const Config& config, std::span<const Instruction> instructions) {
  std::vector<Prepared> prepared;
  prepared.reserve(instructions.size());
  for (const Instruction& instruction : instructions) {
    Prepared p;
    p.instruction = &instruction;
    if (instruction.opcode == Opcode::kMatrix || instruction.opcode == Opcode::kDepthwise) {
      p.geometry = GeometryOf(instruction, config);
      p.visits = VisitsOf(instruction, config);
    }
    p.encoded_bytes = std::ssize(Encode(instruction, config));
    prepared.push_back(std::move(p));
  }
  return prepared;
}

// A double buffer between a unit that fills banks and a unit that reads them. Fill k uses bank k %
// 2 and may begin when fill k - 2 has been released. Filled banks are handed over in order.
template <typename Bank>
struct DoubleBuffer {
  explicit DoubleBuffer(Simulator& simulator) : filled(simulator, 2), released(simulator) {}
  Queue<int64_t> filled;
  Counter released;
  int64_t next_fill = 0;
  Bank banks[2];
  Bank& bank(int64_t fill) { return banks[fill & 1]; }
};

// The instruction queue of a unit.
class CommandQueue {
 public:
  CommandQueue(Simulator& simulator, int depth)
      : depth_(depth),
        queue_(simulator, static_cast<size_t>(depth) + 1),
        done_(simulator),
        simulator_(simulator) {}

  // Offers instruction `i` to the queue, which takes it as soon as an entry is free. All earlier
  // ones have been taken.
  Part Offer(size_t i) {
    offered_at_.push_back(simulator_.now());
    co_await queue_.Push(i);
  }
  // Waits until the queue has taken the last instruction that was offered.
  Part Taken() {
    const int64_t freed = std::ssize(offered_at_) - depth_;
    if (freed <= 0) co_return;
    co_await done_.AtLeast(freed);
    co_await simulator_.WaitUntil(EntersIn(offered_at_.size() - 1));
  }
  // Waits for the unit's next instruction, and sets `*i` to it.
  Part Next(size_t* i) {
    *i = co_await queue_.Pop();
    co_await simulator_.WaitUntil(EntersIn(done_at_.size()));
  }

  // Returns the first cycle in which the unit has its current instruction.
  int64_t AvailableSince() const {
    const size_t n = done_at_.size();
    return n == 0 ? EntersIn(n) : std::max(EntersIn(n), done_at_[n - 1]);
  }

  // Records that the unit has finished its first instruction, which frees the instruction's entry.
  void Done() {
    done_at_.push_back(simulator_.now());
    done_.Add();
  }

 private:
  // Returns the cycle in which instruction `n` of this queue is in its entry, which has been freed.
  int64_t EntersIn(size_t n) const {
    const auto depth = static_cast<size_t>(depth_);
    return n < depth ? offered_at_[n]
                     : std::max(offered_at_[n], done_at_[n - depth] + kCommandRoomCycles);
  }

  int depth_;
  Queue<size_t> queue_;  // the command processor offers one instruction beyond the free entries
  std::vector<int64_t> offered_at_;
  Counter done_;
  std::vector<int64_t> done_at_;
  Simulator& simulator_;
};

// The memory behind the ports. If every request has the same latency and the ports never wait for
// it, it is the latency of `config`. Otherwise `config` is the design point, and `simulated` the
// memory.
struct MemoryBehind {
  Config config;
  int64_t prefetch_words;
  std::optional<hardware::AxiTiming> simulated;
};

// One run of a sequence of instructions: all units, buffers and counters.
class Machine {
 public:
  // `program` is the address of the encoded instructions.
  Machine(const MemoryBehind& behind, std::span<const Instruction> instructions,
          const std::vector<Prepared>& prepared, uint64_t program, std::span<uint8_t> memory)
      : config_(behind.config),
        prefetch_words_(behind.prefetch_words),
        numbers_(config_),
        prepared_(prepared),
        memory_(memory),
        recorder_(simulator_, instructions),
        finished_(simulator_),
        vector_done_(simulator_),
        inputs_(simulator_),
        depthwise_inputs_(simulator_),
        weights_(simulator_),
        depthwise_weights_(simulator_),
        shadow_(simulator_, 1),
        passes_started_(simulator_),
        array_done_(simulator_, static_cast<size_t>(config_.accumulation_buffer_banks)),
        depthwise_done_(simulator_, static_cast<size_t>(config_.accumulation_buffer_banks)),
        accumulation_released_(simulator_),
        parameters_ready_(simulator_, 1),
        parameters_released_(simulator_),
        writes_(simulator_, instructions.size() + 1),
        fetches_words_(behind.simulated.has_value() || config_.shared_bus ||
                       WordCycles(config_) > 1),
        bus_(simulator_, kReaders),
        words_(simulator_, static_cast<size_t>(prefetch_words_)),
        words_taken_(simulator_),
        accumulation_(static_cast<size_t>(config_.accumulation_buffer_banks)),
        array_weights_(config_),
        shadow_weights_(config_) {
    for (int u = 0; u < kUnits; ++u) {
      commands_.push_back(std::make_unique<CommandQueue>(simulator_, config_.command_queue_depth));
    }
    for (int p = 0; p < config_.precisions(); ++p)
      array_numbers_.emplace_back(AtPrecision(config_, p));
    first_visit_.reserve(prepared.size());
    int64_t visits = 0;
    for (const Prepared& p : prepared) {
      first_visit_.push_back(visits);
      visits += static_cast<int64_t>(p.visits.size());
    }
    if (!behind.simulated.has_value()) return;
    simulated_ = std::make_unique<SimulatedMemory>(
        simulator_, config_, *behind.simulated, program,
        SimulatedMemory::Machine{
            .arrived = [this](const Arrival& arrival, int64_t cycle) { Arrived(arrival, cycle); },
            .wants_program =
                [this](int64_t requested) {
                  return !program_ended_ && requested - words_taken_.value() < prefetch_words_;
                },
            .running = [this] { return !program_ended_ || finished_.value() < Count(); }});
  }

  Status Run(Trace& trace) {
    simulator_.Spawn("command processor", CommandProcessor());
    if (simulated_ != nullptr && !prepared_.empty()) {
      simulated_->Start();
    } else if (fetches_words_ && !prepared_.empty()) {
      simulator_.Spawn("program fetch", ProgramFetch());
    }
    simulator_.Spawn("input fetch", InputFetch());
    simulator_.Spawn("weight fetch", WeightFetch());
    simulator_.Spawn("weight load", WeightLoad());
    simulator_.Spawn("array", Array());
    simulator_.Spawn("depthwise", Depthwise());
    simulator_.Spawn("parameter fetch", ParameterFetch());
    simulator_.Spawn("vector", Vector());
    simulator_.Spawn("completion", Completion());
    // Cycles. No program that fits its memory runs this long behind a memory that RtlOptions and
    // kiln run --memory accept.
    constexpr int64_t kLongest = int64_t{1} << 50;
    KILN_CHECK(simulator_.Run(kLongest));
    if (!memory_.fault().empty())
      return ErrorAt("", "", memory_.fault(), "the program is malformed");
    if (const auto waiting = simulator_.unfinished(); !waiting.empty()) {
      return ErrorAt(
          "", "",
          fmt::format("the program does not end: {} wait for each other", fmt::join(waiting, ", ")),
          "the program is malformed");
    }
    trace.cycles =
        simulated_ != nullptr && !kernels_.empty() ? kernels_.back().end : simulator_.now();
    recorder_.TakeSpans(trace);
    trace.units = recorder_.TakeUnits();
    for (size_t i = 0; i < kernels_.size(); ++i) kernels_[i].busy_cycles = recorder_.BusyOf(i);
    trace.kernels = std::move(kernels_);
    return OkStatus();
  }

 private:
  int64_t Count() const { return std::ssize(prepared_); }
  const ArrayNumbers& NumbersOf(const Instruction& in) const {
    return array_numbers_[in.precision];
  }
  static bool UsesUnit(const Instruction& instruction, Unit unit) {
    switch (unit) {
      case kInputFetch:
      case kWeightFetch:
      case kParameterFetch:
        return instruction.opcode == Opcode::kMatrix || instruction.opcode == Opcode::kDepthwise;
      case kWeightLoad:
      case kArray:
        return instruction.opcode == Opcode::kMatrix;
      case kDepthwiseUnit:
        return instruction.opcode == Opcode::kDepthwise;
      case kVectorUnit:
        return true;
      case kCommandProcessor:
      case kUnits:
        break;
    }
    return false;
  }
  // Returns the number of instructions that the unit will be sent.
  size_t CommandsFor(Unit unit) const {
    return static_cast<size_t>(
        std::count_if(prepared_.begin(), prepared_.end(),
                      [&](const Prepared& p) { return UsesUnit(*p.instruction, unit); }));
  }

  // Fetches and decodes instructions. Hands each to the units that use it, to each as soon as its
  // queue has a free entry. When all have it, the next instruction follows.
  Process CommandProcessor() {
    if (!fetches_words_) {
      co_await simulator_.Delay(config_.memory_latency);  // for the program's first bytes
      recorder_.Stall(kCommandProcessor, kNoProgramWord, 0);
    }
    // The last instruction is the header that ends the program. Spans attribute it to the last
    // kernel.
    for (size_t i = 0; !prepared_.empty() && i <= prepared_.size(); ++i) {
      const bool end = i == prepared_.size();
      int64_t since = simulator_.now();
      co_await finished_.AtLeast(static_cast<int64_t>(i) + 1 - ProgramSlots(config_));
      recorder_.Stall(kCommandProcessor, kStageMemoriesFull, since);
      const int64_t bytes = end ? kInstructionWordBytes : prepared_[i].encoded_bytes;
      const size_t kernel_of = end ? i - 1 : i;
      recorder_.unit(kCommandProcessor).bytes_read += bytes;
      if (fetches_words_) {
        co_await TakeWords(bytes / kInstructionWordBytes, kernel_of);
      } else {
        const int64_t cycles = DispatchCycles(config_, bytes);
        recorder_.Busy(kCommandProcessor, kernel_of, cycles);
        co_await simulator_.Delay(cycles);
      }
      if (end) {
        StopProgramFetch();
        co_return;
      }
      since = simulator_.now();
      std::vector<CommandQueue*> queues;
      for (int u = 0; u < kUnits; ++u) {
        if (UsesUnit(*prepared_[i].instruction, static_cast<Unit>(u)))
          queues.push_back(commands_[static_cast<size_t>(u)].get());
      }
      for (CommandQueue* queue : queues) co_await queue->Offer(i);
      for (CommandQueue* queue : queues) co_await queue->Taken();
      recorder_.Stall(kCommandProcessor, kQueueFull, since);
      next_word_ = simulator_.now() - 1 + WordCycles(config_);
    }
  }

  // On a shared bus, instruction words arrive when their requests have been granted. Without one,
  // the process models a port narrower than an instruction word, whose requests wait for no other
  // port. Words are prefetched until the program's end has been decoded (the memory extends beyond
  // the end).
  Process ProgramFetch() {
    for (int64_t word = 0;; ++word) {
      co_await words_taken_.AtLeast(word + 1 - prefetch_words_);
      if (program_ended_) co_return;
      const int64_t beats = WordCycles(config_);
      const int64_t turn = co_await bus_.Turn(kProgramReader, beats);
      if (turn == BusTurns::kWithdrawn) co_return;
      co_await words_.Push(word, beats - 1 + config_.memory_latency - 1);
    }
  }
  // Decodes `words` instruction words, one cycle each and WordCycles from one to the next, and then
  // hands the instruction on.
  Part TakeWords(int64_t words, size_t index) {
    for (int64_t i = 0; i < words; ++i) {
      co_await simulator_.WaitUntil(next_word_);
      const int64_t since = simulator_.now();
      co_await words_.Pop();
      recorder_.Stall(kCommandProcessor, kNoProgramWord, since);
      recorder_.Busy(kCommandProcessor, index, 1);
      co_await simulator_.Delay(1);
      words_taken_.Add();
      next_word_ = simulator_.now() - 1 + WordCycles(config_);
    }
    recorder_.Busy(kCommandProcessor, index, 1);
    co_await simulator_.Delay(1);
  }
  void StopProgramFetch() {
    program_ended_ = true;
    bus_.Withdraw(kProgramReader);
    words_taken_.Add(prefetch_words_);
  }

  // Hands on what a word from the simulated memory ends. It is at its port's output in `cycle`, and
  // usable from the next cycle on; a word of the program at once.
  void Arrived(const Arrival& arrival, int64_t cycle) {
    switch (arrival.of) {
      case Arrival::Of::kNothing:
        break;
      case Arrival::Of::kProgramWord:
        return words_.Put(0, cycle);
      case Arrival::Of::kInputs:
        return inputs_.filled.Put(arrival.number, cycle + 1);
      case Arrival::Of::kDepthwiseInputs:
        return depthwise_inputs_.filled.Put(arrival.number, cycle + 1);
      case Arrival::Of::kWeights:
        return weights_.filled.Put(arrival.number, cycle + 1);
      case Arrival::Of::kDepthwiseWeights:
        return depthwise_weights_.filled.Put(arrival.number, cycle + 1);
      case Arrival::Of::kParameters:
        return parameters_ready_.Put(0, cycle + 1);
      case Arrival::Of::kOperands:
        return simulated_->lanes().SetReady(arrival.number, cycle + 1);
    }
  }
  // Issues the requests of a step to the simulated memory, and records the unit's work on
  // instruction `index`. The last request brings `arrival`. With `through`, the unit finishes its
  // instruction in the first cycle of the last request.
  Part AskMemory(Reader reader, Unit unit, size_t index, const Requests& requests,
                 const Arrival& arrival, CommandQueue* through) {
    const auto scaled = [](const Request& request) { return request.scales.count > 0; };
    const auto last_scaled = std::find_if(requests.rbegin(), requests.rend(), scaled);
    int64_t begin = simulator_.now();
    for (const Request& request : requests) {
      const bool last = &request == &requests.back();
      const bool last_scales = arrival.of != Arrival::Of::kNothing &&
                               last_scaled != requests.rend() && &request == &*last_scaled;
      const int64_t waited =
          co_await simulated_->Ask(reader, request, last ? arrival : Arrival{}, last_scales);
      if (waited > 0) {  // for the scale port: neither work nor a stall
        const int64_t accepted = simulator_.now() - 1;
        recorder_.Busy(unit, index, begin, accepted - waited);
        begin = accepted;
      }
      if (through != nullptr && last) through->Done();
    }
    // The unit is busy until the port can take a further request.
    while (!simulated_->Ready(reader)) co_await simulator_.Delay(1);
    recorder_.Busy(unit, index, begin, simulator_.now());
  }

  // Runs the words of the vector unit behind the simulated memory, from the first cycle in which
  // they can begin to the end of their time. Sets `time->busy`.
  Part AskMemoryForWords(VectorWords words, const VectorProgram& program, VectorTime* time) {
    VectorLanes& lanes = simulated_->lanes();
    const VectorLanes::Depth depth{PipelineDepth(program, config_), LaneDepth(program, config_)};
    co_await simulator_.WaitUntil(commands_[kVectorUnit]->AvailableSince() + kFirstSlotCycles);
    while (!lanes.InOrder(depth)) co_await simulator_.Delay(1);
    const int64_t start = simulator_.now();
    simulated_->operands().Start(words, depth);
    co_await lanes.BlockEnd();
    time->busy = simulator_.now() - start;
  }

  // Returns whether units issue their requests one by one, rather than their sum at once.
  bool AsksOneByOne() const { return simulated_ != nullptr || config_.shared_bus; }
  // Issues the requests of a step one by one, like AskMemory.
  Part Ask(Reader reader, Unit unit, size_t index, const Requests& requests, const Arrival& arrival,
           CommandQueue* through) {
    if (simulated_ != nullptr) {
      co_await AskMemory(reader, unit, index, requests, arrival, through);
    } else {
      const int64_t begin = simulator_.now();
      co_await AskBus(reader, requests, through);
      recorder_.Busy(unit, index, begin, simulator_.now());
    }
  }
  Part AskBus(Reader reader, const Requests& requests, CommandQueue* through) {
    for (size_t i = 0; i < requests.size(); ++i) {
      const int32_t beats = requests[i].beats;
      if (beats == 0) {
        co_await simulator_.Delay(1);
      } else {
        co_await bus_.Turn(reader, beats);
      }
      if (through != nullptr && i + 1 == requests.size()) through->Done();
      co_await simulator_.Delay(std::max(beats, 1) - 1);
    }
  }

  // Runs the words of the vector unit on the shared bus, like BoundedSlots of timing_vector.cc on a
  // port of its own. Sets `time` to the equivalent of DrainTime or VectorInstructionTime.
  Part AskForWords(VectorWords words, const VectorProgram& program, VectorTime* time) {
    const int64_t start = simulator_.now();
    std::vector<int64_t> entered(static_cast<size_t>(config_.operand_buffer_words - 1), start - 1);
    int64_t next_turn = start, written = start;
    size_t at = 0;
    for (VectorWord word; words.Next(&word); at = at + 1 == entered.size() ? 0 : at + 1) {
      co_await simulator_.WaitUntil(entered[at] + 1);
      const int64_t begin = simulator_.now();
      co_await simulator_.Delay(word.search);
      co_await AskBus(kOperandReader, word.operands, nullptr);
      const int64_t ready = simulator_.now() + (word.operands.empty() ? 0 : config_.memory_latency);
      const int64_t enter = std::max(next_turn, ready);
      const int64_t slot = std::max({simulator_.now() - begin, word.output, int64_t{1}}) + word.gap;
      entered[at] = enter;
      next_turn = enter + slot;
      if (word.to_memory) written = enter + word.output;
      co_await simulator_.WaitUntil(begin + slot);
    }
    co_await simulator_.WaitUntil(next_turn);
    const int64_t depth = PipelineDepth(program, config_);
    *time = {next_turn - start,
             std::max(next_turn, written + config_.memory_latency) - start + depth};
  }

  // Returns the number of finished instructions for which instruction `i` waits.
  static int64_t AwaitedBy(const Instruction& in, size_t i) {
    return static_cast<int64_t>(i) + 1 - in.wait_distance;
  }

  Process InputFetch() {
    for (size_t n = CommandsFor(kInputFetch); n > 0; --n) {
      size_t i = 0;
      co_await commands_[kInputFetch]->Next(&i);
      const Prepared& p = prepared_[i];
      const Instruction& in = *p.instruction;
      if (in.wait_distance > 0) {
        const int64_t since = simulator_.now();
        co_await finished_.AtLeast(AwaitedBy(in, i));
        recorder_.Stall(kInputFetch, kEarlierInstruction, since);
      }
      const bool depthwise = in.opcode == Opcode::kDepthwise;
      DoubleBuffer<InputBank>& buffer = depthwise ? depthwise_inputs_ : inputs_;
      const Visit* last_fetch = LastWith(p.visits, &Visit::fetch_inputs);
      for (const Visit& visit : p.visits) {
        if (!visit.fetch_inputs) continue;
        for (int32_t fill = 0; fill < p.geometry.fills; ++fill) {
          const int32_t first = depthwise ? visit.first_column : fill * in.tiling.groups_per_bank;
          const int32_t all = depthwise ? p.geometry.column_tiles : p.geometry.groups;
          const int32_t end = std::min(all, first + in.tiling.groups_per_bank);
          const int64_t k = buffer.next_fill++;
          const int64_t since = simulator_.now();
          co_await buffer.released.AtLeast(k - 1);
          recorder_.Stall(kInputFetch, kInputBankFull, since);
          co_await simulator_.WaitUntil(commands_[kInputFetch]->AvailableSince() +
                                        kInputRequestCycles);
          const int64_t before = memory_.bytes_read;
          FillInputs(in, config_, NumbersOf(in), p.geometry, visit, first, end, memory_,
                     buffer.bank(k));
          recorder_.unit(kInputFetch).bytes_read += memory_.bytes_read - before;
          const bool last = &visit == last_fetch && fill + 1 == p.geometry.fills;
          CommandQueue* through = last ? commands_[kInputFetch].get() : nullptr;
          if (AsksOneByOne()) {
            const Requests requests = InputFillRequests(in, config_, p.geometry, visit, first, end);
            const Arrival filled{depthwise ? Arrival::Of::kDepthwiseInputs : Arrival::Of::kInputs,
                                 k, in.convolution.input_scales.present};
            co_await Ask(kInputReader, kInputFetch, i, requests, filled, through);
          } else {
            const int32_t last_group =
                depthwise ? first : end - 1;  // a depthwise fill counts as one group
            int64_t cycles = 0;
            for (int32_t g = first; g <= last_group; ++g)
              cycles += GroupFetchCycles(in, config_, p.geometry, visit, g);
            recorder_.Busy(kInputFetch, i, cycles);
            co_await Fetch(cycles,
                           last ? LastGroupBeats(in, config_, p.geometry, visit, last_group) : 1,
                           through);
          }
          if (simulated_ == nullptr) co_await buffer.filled.Push(k, config_.memory_latency);
        }
      }
    }
  }

  // Runs a step of a fetch unit on a port of its own. With `through`, the unit finishes its
  // instruction in the first cycle of the last request, which begins `from_last` cycles before the
  // end of the step.
  Part Fetch(int64_t cycles, int64_t from_last, CommandQueue* through) {
    co_await simulator_.Delay(cycles - (from_last - 1));
    if (through != nullptr) through->Done();
    co_await simulator_.Delay(from_last - 1);
  }

  // Returns the last visit that has a flag.
  static const Visit* LastWith(const std::vector<Visit>& visits, bool Visit::* flag) {
    const auto last = std::find_if(visits.rbegin(), visits.rend(),
                                   [flag](const Visit& visit) { return visit.*flag; });
    KILN_CHECK(last != visits.rend());
    return &*last;
  }

  // Returns entry t of the weight tiles of one block, in the order of passes: (row tile, column
  // tile of the block).
  static std::pair<int32_t, int32_t> TileOfBlock(const Geometry& geometry, const Visit& visit,
                                                 int64_t t) {
    const int64_t per_group = int64_t{visit.columns} * geometry.rows_per_group;
    const int64_t group = t / per_group, rest = t % per_group;
    return {static_cast<int32_t>(group * geometry.rows_per_group + rest % geometry.rows_per_group),
            static_cast<int32_t>(rest / geometry.rows_per_group)};
  }

  Process WeightFetch() {
    for (size_t n = CommandsFor(kWeightFetch); n > 0; --n) {
      size_t i = 0;
      co_await commands_[kWeightFetch]->Next(&i);
      const Prepared& p = prepared_[i];
      const Instruction& in = *p.instruction;
      const bool depthwise = in.opcode == Opcode::kDepthwise;
      if (in.wait_distance > 0 && !depthwise &&
          in.convolution.weight_layout == WeightLayout::kStrided) {
        const int64_t since = simulator_.now();
        co_await finished_.AtLeast(AwaitedBy(in, i));
        recorder_.Stall(kWeightFetch, kEarlierInstruction, since);
      }
      const Visit* last_fetch = LastWith(p.visits, &Visit::fetch_weights);
      for (const Visit& visit : p.visits) {
        if (!visit.fetch_weights) continue;
        const int64_t tiles = depthwise ? 1 : int64_t{p.geometry.row_tiles()} * visit.columns;
        const int64_t per_fill = depthwise ? 1 : in.tiling.weight_tiles_per_bank;
        DoubleBuffer<WeightBank>& buffer = depthwise ? depthwise_weights_ : weights_;
        for (int64_t first = 0; first < tiles; first += per_fill) {
          const int64_t end = std::min(tiles, first + per_fill);
          const int64_t k = buffer.next_fill++;
          const int64_t since = simulator_.now();
          co_await buffer.released.AtLeast(k - 1);
          recorder_.Stall(kWeightFetch, kWeightBankFull, since);
          const int64_t before = memory_.bytes_read;
          WeightBank& bank = buffer.bank(k);
          std::vector<std::pair<int32_t, int32_t>> fetched;  // row and column tiles
          if (depthwise) {
            FetchDepthwiseWeights(in, config_, NumbersOf(in), visit, memory_, bank);
            fetched.emplace_back(0, visit.first_column);
          } else {
            bank = {};
            for (int64_t t = first; t < end; ++t) {
              const auto [row_tile, column] = TileOfBlock(p.geometry, visit, t);
              fetched.emplace_back(row_tile, visit.first_column + column);
              FetchWeightTile(in, config_, NumbersOf(in), p.geometry, visit, row_tile,
                              visit.first_column + column, memory_, bank);
            }
          }
          recorder_.unit(kWeightFetch).bytes_read += memory_.bytes_read - before;
          const bool last = &visit == last_fetch && end == tiles;
          CommandQueue* through = last ? commands_[kWeightFetch].get() : nullptr;
          if (AsksOneByOne()) {
            const Arrival filled{depthwise ? Arrival::Of::kDepthwiseWeights : Arrival::Of::kWeights,
                                 k, in.convolution.weight_scales.present};
            for (const auto& tile : fetched) {
              const bool last_tile = &tile == &fetched.back();
              const Requests requests =
                  WeightTileRequests(in, config_, visit.batch, tile.first, tile.second);
              co_await Ask(kWeightReader, kWeightFetch, i, requests, last_tile ? filled : Arrival{},
                           last_tile ? through : nullptr);
            }
          } else {
            int64_t cycles = 0;
            for (const auto& [row_tile, column_tile] : fetched) {
              cycles += WeightFetchCycles(in, config_, visit.batch, row_tile, column_tile);
            }
            recorder_.Busy(kWeightFetch, i, cycles);
            const auto [row_tile, column_tile] = fetched.back();
            co_await Fetch(
                cycles,
                last ? CyclesFromLastWeights(in, config_, visit.batch, row_tile, column_tile) : 1,
                through);
          }
          if (simulated_ == nullptr) co_await buffer.filled.Push(k, config_.memory_latency);
        }
      }
    }
  }

  // Shifts one weight tile after the other into the shadow registers, which each pass empties when
  // it starts.
  Process WeightLoad() {
    int64_t loads = 0;
    int64_t fill = -1;
    for (size_t n = CommandsFor(kWeightLoad); n > 0; --n) {
      size_t i = 0;
      co_await commands_[kWeightLoad]->Next(&i);
      const Prepared& p = prepared_[i];
      const Tiling& tiling = p.instruction->tiling;
      for (const Visit& visit : p.visits) {
        const int64_t tiles = int64_t{p.geometry.row_tiles()} * visit.columns;
        for (int64_t t = 0; t < tiles; ++t) {
          const int64_t in_fill = t % tiling.weight_tiles_per_bank;
          int64_t since = simulator_.now();
          if (in_fill == 0 && visit.fetch_weights) {
            fill = co_await weights_.filled.Pop();
            recorder_.Stall(kWeightLoad, kWeightBankEmpty, since);
          }
          since = simulator_.now();
          co_await passes_started_.AtLeast(loads);
          recorder_.Stall(kWeightLoad, kShadowRegistersFull, since);
          ++loads;
          LoadWeights(config_, NumbersOf(*p.instruction), weights_.bank(fill), in_fill,
                      shadow_weights_);
          const int64_t cycles = WeightLoadCycles(config_);
          recorder_.Busy(kWeightLoad, i, cycles);
          co_await simulator_.Delay(cycles);
          const bool last_of_fill = t + 1 == tiles || in_fill + 1 == tiling.weight_tiles_per_bank;
          if (last_of_fill && visit.last_of_weights) weights_.released.Add();
          co_await shadow_.Push(0);
        }
      }
      commands_[kWeightLoad]->Done();
    }
  }

  Process Array() {
    int64_t fill = -1;
    for (size_t n = CommandsFor(kArray); n > 0; --n) {
      size_t i = 0;
      co_await commands_[kArray]->Next(&i);
      const Prepared& p = prepared_[i];
      const Instruction& in = *p.instruction;
      for (size_t v = 0; v < p.visits.size(); ++v) {
        const Visit& visit = p.visits[v];
        const int64_t block = first_visit_[i] + static_cast<int64_t>(v);
        bool first_pass = true;
        for (int32_t f = 0; f < p.geometry.fills; ++f) {
          if (visit.fetch_inputs) {
            const int64_t since = simulator_.now();
            fill = co_await inputs_.filled.Pop();
            recorder_.Stall(kArray, kInputBankEmpty, since);
          }
          const int32_t first_group = f * in.tiling.groups_per_bank;
          const int32_t end_group =
              std::min(p.geometry.groups, first_group + in.tiling.groups_per_bank);
          for (int32_t g = first_group; g < end_group; ++g) {
            for (int32_t c = 0; c < visit.columns; ++c) {
              for (int32_t r = 0; r < p.geometry.rows_per_group; ++r) {
                int64_t since = simulator_.now();
                co_await shadow_.Pop();
                recorder_.Stall(kArray, kNoWeights, since);
                if (first_pass) {
                  since = simulator_.now();
                  co_await accumulation_released_.AtLeast(block -
                                                          config_.accumulation_buffer_banks + 1);
                  recorder_.Stall(kArray, kAccumulationBankFull, since);
                  first_pass = false;
                }
                std::swap(array_weights_, shadow_weights_);
                passes_started_.Add();
                const PassOf pass{g, g - first_group, r, c, g == 0 && r == 0};
                ArrayPass(in, config_, NumbersOf(in), p.geometry, visit, array_weights_,
                          inputs_.bank(fill), pass, AccumulationOf(block));
                recorder_.Busy(kArray, i, visit.pixels());
                co_await simulator_.Delay(visit.pixels());
              }
            }
          }
          if (visit.last_of_inputs) inputs_.released.Add();
        }
        co_await array_done_.Push(block, SettleCycles(in, config_));
      }
      commands_[kArray]->Done();
    }
  }

  Process Depthwise() {
    int64_t fill = -1;
    for (size_t n = CommandsFor(kDepthwiseUnit); n > 0; --n) {
      size_t i = 0;
      co_await commands_[kDepthwiseUnit]->Next(&i);
      const Prepared& p = prepared_[i];
      const Instruction& in = *p.instruction;
      for (size_t v = 0; v < p.visits.size(); ++v) {
        const Visit& visit = p.visits[v];
        const int64_t block = first_visit_[i] + static_cast<int64_t>(v);
        int64_t since = simulator_.now();
        if (visit.fetch_inputs) fill = co_await depthwise_inputs_.filled.Pop();
        recorder_.Stall(kDepthwiseUnit, kInputBankEmpty, since);
        since = simulator_.now();
        const int64_t weights = co_await depthwise_weights_.filled.Pop();
        recorder_.Stall(kDepthwiseUnit, kNoWeights, since);
        since = simulator_.now();
        co_await accumulation_released_.AtLeast(block - config_.accumulation_buffer_banks + 1);
        recorder_.Stall(kDepthwiseUnit, kAccumulationBankFull, since);
        DepthwiseStep(in, config_, NumbersOf(in), p.geometry, visit,
                      depthwise_weights_.bank(weights), depthwise_inputs_.bank(fill),
                      AccumulationOf(block));
        const int64_t cycles = DepthwiseCycles(in, config_, visit);
        recorder_.Busy(kDepthwiseUnit, i, cycles);
        co_await simulator_.Delay(cycles);
        if (visit.last_of_inputs) depthwise_inputs_.released.Add();
        depthwise_weights_.released.Add();
        co_await depthwise_done_.Push(block, SettleCycles(in, config_));
      }
      commands_[kDepthwiseUnit]->Done();
    }
  }

  // The channel parameters share the operand port with the vector unit. An instruction's first set
  // waits until the vector unit has finished the earlier instructions; later sets wait for the
  // buffer, which the vector unit frees after a drain.
  Process ParameterFetch() {
    int64_t sets = 0;
    for (size_t n = CommandsFor(kParameterFetch); n > 0; --n) {
      size_t i = 0;
      co_await commands_[kParameterFetch]->Next(&i);
      const Prepared& p = prepared_[i];
      int64_t since = simulator_.now();
      co_await vector_done_.AtLeast(static_cast<int64_t>(i));
      recorder_.Stall(kParameterFetch, kOperandPortInUse, since);
      const Visit* last_fetch = LastWith(p.visits, &Visit::fetch_parameters);
      for (const Visit& visit : p.visits) {
        if (!visit.fetch_parameters) continue;
        since = simulator_.now();
        co_await parameters_released_.AtLeast(sets);
        recorder_.Stall(kParameterFetch, kParameterBufferFull, since);
        ++sets;
        const int64_t before = memory_.bytes_read;
        FetchParameters(*p.instruction, config_, visit, memory_, parameters_);
        recorder_.unit(kParameterFetch).bytes_read += memory_.bytes_read - before;
        const bool last = &visit == last_fetch;
        CommandQueue* through = last ? commands_[kParameterFetch].get() : nullptr;
        if (AsksOneByOne()) {
          const Requests requests = ParameterRequests(*p.instruction, config_, visit);
          const Arrival ready{Arrival::Of::kParameters};
          co_await Ask(kOperandReader, kParameterFetch, i, requests, ready, through);
        } else {
          const int64_t cycles = ParameterFetchCycles(*p.instruction, config_, visit);
          recorder_.Busy(kParameterFetch, i, cycles);
          co_await Fetch(cycles, last ? LastParameterBeats(*p.instruction, config_, visit) : 1,
                         through);
        }
        if (simulated_ == nullptr) co_await parameters_ready_.Push(0, config_.memory_latency);
      }
    }
  }

  Process Vector() {
    for (size_t n = CommandsFor(kVectorUnit); n > 0; --n) {
      size_t i = 0;
      co_await commands_[kVectorUnit]->Next(&i);
      const Prepared& p = prepared_[i];
      const Instruction& in = *p.instruction;
      UnitTrace& unit = recorder_.unit(kVectorUnit);
      VectorTime time;  // of the instruction's last drain or its rows
      if (in.opcode == Opcode::kVector) {
        if (in.wait_distance > 0) {
          const int64_t since = simulator_.now();
          co_await finished_.AtLeast(AwaitedBy(in, i));
          recorder_.Stall(kVectorUnit, kEarlierInstruction, since);
        }
        if (simulated_ == nullptr) co_await simulator_.WaitUntil(VectorReady(in.vector));
        if (simulated_ != nullptr) {
          co_await AskMemoryForWords(VectorWords(in, config_), in.vector, &time);
          recorder_.Waited(kVectorUnit, i,
                           time.busy - VectorInstructionTime(in.vector, config_).busy);
        } else if (config_.shared_bus) {
          co_await AskForWords(VectorWords(in, config_), in.vector, &time);
        } else {
          time = VectorInstructionTime(in.vector, config_);
          co_await simulator_.Delay(time.busy);
        }
        recorder_.Busy(kVectorUnit, i, simulator_.now() - time.busy, simulator_.now());
        WordsLeft(in.vector);
        const int64_t read = memory_.bytes_read, written = memory_.bytes_written;
        RunVectorRows(in, numbers_, memory_);
        unit.bytes_read += memory_.bytes_read - read;
        unit.bytes_written += memory_.bytes_written - written;
      }
      for (const Visit& visit : p.visits) {
        int64_t since = simulator_.now();
        const int64_t block =
            co_await (in.opcode == Opcode::kMatrix ? array_done_ : depthwise_done_).Pop();
        recorder_.Stall(kVectorUnit, kNoAccumulators, since);
        if (visit.fetch_parameters) {
          since = simulator_.now();
          co_await parameters_ready_.Pop();
          recorder_.Stall(kVectorUnit, kNoChannelParameters, since);
        }
        if (simulated_ == nullptr) co_await simulator_.WaitUntil(VectorReady(in.vector));
        if (simulated_ != nullptr) {
          co_await AskMemoryForWords(VectorWords(in, config_, visit), in.vector, &time);
          recorder_.Waited(kVectorUnit, i, time.busy - DrainTime(in, config_, visit).busy);
        } else if (config_.shared_bus) {
          co_await AskForWords(VectorWords(in, config_, visit), in.vector, &time);
        } else {
          time = DrainTime(in, config_, visit);
          co_await simulator_.Delay(time.busy);
        }
        recorder_.Busy(kVectorUnit, i, simulator_.now() - time.busy, simulator_.now());
        WordsLeft(in.vector);
        const int64_t read = memory_.bytes_read, written = memory_.bytes_written;
        DrainBlock(in, numbers_, visit, AccumulationOf(block), parameters_, memory_);
        unit.bytes_read += memory_.bytes_read - read;
        unit.bytes_written += memory_.bytes_written - written;
        accumulation_released_.Add();
        if (visit.last_of_parameters) parameters_released_.Add();
      }
      vector_done_.Add();
      if (simulated_ != nullptr) {
        simulated_->lanes().EndInstruction(i, PipelineDepth(in.vector, config_));
      } else {
        co_await writes_.Push(i, time.finished - time.busy);
      }
      commands_[kVectorUnit]->Done();
    }
  }

  // Returns the cycle from which the vector unit may begin a block: its first word is listed, and
  // words leave the lanes and the unit in order, regardless of their depth.
  int64_t VectorReady(const VectorProgram& program) const {
    return std::max({commands_[kVectorUnit]->AvailableSince() + kFirstSlotCycles,
                     lanes_left_ - LaneDepth(program, config_),
                     output_left_ - PipelineDepth(program, config_)});
  }
  void WordsLeft(const VectorProgram& program) {
    lanes_left_ = std::max(lanes_left_, simulator_.now() + LaneDepth(program, config_));
    output_left_ = std::max(output_left_, simulator_.now() + PipelineDepth(program, config_));
  }

  // An instruction is finished when its last write has reached memory.
  Process Completion() {
    int64_t before = 0;
    for (size_t n = prepared_.size(); n > 0; --n) {
      size_t i = 0;
      if (simulated_ != nullptr) {
        i = co_await simulated_->lanes().Finished();
      } else {
        i = co_await writes_.Pop();
      }
      KernelTrace kernel;
      kernel.kernel = static_cast<int>(prepared_[i].instruction->kernel);
      kernel.begin = std::exchange(before, simulator_.now());
      kernel.end = simulator_.now();
      kernels_.push_back(kernel);
      finished_.Add();
    }
  }

  AccumulationBank& AccumulationOf(int64_t block) {
    return accumulation_[static_cast<size_t>(block % config_.accumulation_buffer_banks)];
  }

  const Config& config_;  // its memory_latency is that of the memory in use
  const int64_t prefetch_words_;
  const Numbers numbers_;
  std::vector<ArrayNumbers> array_numbers_;  // one for each precision
  const std::vector<Prepared>& prepared_;
  OuterMemory memory_;
  Simulator simulator_;
  Recorder recorder_;
  std::vector<KernelTrace> kernels_;

  std::vector<std::unique_ptr<CommandQueue>> commands_;  // one for each unit
  Counter finished_;     // instructions whose writes are all in memory
  Counter vector_done_;  // instructions whose words the vector unit has all issued
  int64_t lanes_left_ = 0,
          output_left_ = 0;  // when the last word so far leaves the lanes and the unit
  DoubleBuffer<InputBank> inputs_, depthwise_inputs_;
  DoubleBuffer<WeightBank> weights_, depthwise_weights_;
  Queue<int> shadow_;       // a loaded tile in the shadow registers
  Counter passes_started_;  // each pass empties the shadow registers
  Queue<int64_t> array_done_, depthwise_done_;
  Counter accumulation_released_;  // blocks drained, counted over the whole program
  Queue<int> parameters_ready_;
  Counter parameters_released_;
  Queue<size_t> writes_;

  std::unique_ptr<SimulatedMemory> simulated_;  // null: every request has the same latency

  // Models the program's instruction words one by one, if they may arrive more than a cycle apart.
  const bool fetches_words_;
  BusTurns bus_;  // also used for a program port of its own
  Queue<int64_t> words_;
  Counter words_taken_;
  int64_t next_word_ = 0;  // when the next word may be taken
  bool program_ended_ = false;

  std::vector<int64_t> first_visit_;  // number of the first block of each instruction, counted over
                                      // the whole program
  std::vector<AccumulationBank> accumulation_;
  StandingWeights array_weights_, shadow_weights_;
  ParameterBank parameters_;
};

// Returns the memory in `rtl` behind a design point. Prefetching depends on the design point alone.
MemoryBehind Behind(const RtlOptions& rtl, const Config& design) {
  MemoryBehind behind{design, PrefetchWords(design), std::nullopt};
  const auto own = static_cast<uint64_t>(AnswerCycles(design));
  if (rtl.stall_probability == 0 && (rtl.dram_bytes_per_cycle > 0 || rtl.memory_latency > own)) {
    behind.simulated = MemoryTimingOf(rtl, own);
  } else if (rtl.followed_latency() > 0) {
    behind.config.memory_latency = static_cast<int>(rtl.followed_latency()) + design.port_latency();
  }
  return behind;
}

StatusOr<Trace> RunPrepared(const MemoryBehind& behind, std::span<const Instruction> instructions,
                            const std::vector<Prepared>& prepared, uint64_t address,
                            std::span<uint8_t> memory) {
  Trace trace;
  Machine machine(behind, instructions, prepared, address, memory);
  KILN_RETURN_IF_ERROR(machine.Run(trace));
  return trace;
}

}  // namespace

StatusOr<Trace> RunInstructions(const Config& config, std::span<const Instruction> instructions,
                                std::span<uint8_t> memory, const RtlOptions& rtl,
                                uint64_t address) {
  for (const Instruction& instruction : instructions)
    KILN_RETURN_IF_ERROR(CheckInstruction(instruction, config));
  const MemoryBehind behind = Behind(rtl, config);
  return RunPrepared(behind, instructions, Prepare(behind.config, instructions), address, memory);
}

StatusOr<Trace> RunInstructionsBehind(const hardware::AxiTiming& timing, const Config& config,
                                      std::span<const Instruction> instructions, uint64_t address,
                                      std::span<uint8_t> memory) {
  for (const Instruction& instruction : instructions)
    KILN_RETURN_IF_ERROR(CheckInstruction(instruction, config));
  return RunPrepared({config, PrefetchWords(config), timing}, instructions,
                     Prepare(config, instructions), address, memory);
}

StatusOr<RunResult> RunCycle(const SystolicProgram& program, const Batch& batch,
                             const RunOptions& options) {
  const MemoryBehind behind = Behind(options.rtl, program.config());
  const std::span<const Instruction> all(program.instructions());
  for (const Instruction& instruction : all)
    KILN_RETURN_IF_ERROR(CheckInstruction(instruction, behind.config));
  // The visits of a step's instructions are the same for every image.
  std::vector<std::vector<Prepared>> prepared;
  for (const Step& step : program.steps()) {
    if (step.kind == Step::Kind::kHost) continue;
    prepared.push_back(Prepare(behind.config, InstructionsOf(program, step)));
  }
  // Where the programs are matters behind a simulated memory alone.
  std::vector<uint64_t> addresses(prepared.size(), 0);
  if (behind.simulated.has_value()) addresses = ProgramImageOf(program).addresses;
  return RunSteps(program, batch, options, Level::kCycle,
                  [&](int64_t, const Step& step, size_t number, std::span<uint8_t> memory) {
                    return RunPrepared(behind, InstructionsOf(program, step), prepared[number],
                                       addresses[number], memory);
                  });
}

}  // namespace kiln::systolic
