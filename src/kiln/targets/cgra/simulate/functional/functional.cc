// Executes commands: writes into memories, and runs by their plan.

#include "kiln/targets/cgra/simulate/functional/functional.h"

#include <algorithm>
#include <optional>

#include "fmt/format.h"
#include "kiln/targets/cgra/isa/derived.h"
#include "kiln/targets/cgra/isa/stream.h"
#include "kiln/targets/cgra/simulate/functional/lanes.h"
#include "kiln/targets/cgra/simulate/functional/plan.h"

namespace kiln::cgra {
namespace {

constexpr int64_t kBlock = 64;  // threads that are executed together

// Names for the memories that writes go to, with their sizes.
struct Target {
  const char* name;
  int64_t entries;
  int64_t beats_of_entry;
};

}  // namespace

FunctionalMachine::FunctionalMachine(const Config& config) : config_(config) {
  tiles_.resize(static_cast<size_t>(config.tiles()));
  const auto lanes = static_cast<size_t>(config.lanes);
  for (Tile& tile : tiles_) {
    tile.spokes.resize(static_cast<size_t>(config.spoke_depth), 0);
    tile.instructions.resize(static_cast<size_t>(config.instruction_depth), {0, 0});
    for (auto& memory : tile.memory) {
      memory.resize(static_cast<size_t>(config.memory_depth) * lanes, 0);
    }
  }
  deliveries_.resize(size_t{kDeliveryEntries}, 0);
}

// The execution of one stream. Threads are executed in blocks of kBlock: an instruction that does
// not depend on itself over threads is computed for the whole block at once, in loops over kBlock
// times `lanes` elements; instructions in a loop over threads are computed thread by thread.
class FunctionalRun {
 public:
  FunctionalRun(FunctionalMachine* machine, std::span<const uint8_t> stream)
      : machine_(*machine), config_(machine->config_), stream_(stream) {
    beat_bytes_ = BeatBytes(config_);
    lanes_ = static_cast<size_t>(config_.lanes);
  }

  StatusOr<std::vector<uint8_t>> Execute() {
    if (stream_.size() % beat_bytes_ != 0) {
      return ErrorAt("", "stream in", fmt::format("it has {} bytes", stream_.size()),
                     fmt::format("beats of {} bytes", beat_bytes_));
    }
    beats_ = stream_.size() / beat_bytes_;
    while (next_ < beats_) {
      const Header header = DecodeHeader(WordOf(Beat(next_++)));
      if (header.command == Command::kWrite && header.beats > 0) {
        KILN_RETURN_IF_ERROR(Write(header));
      } else if (header.command == Command::kRun) {
        KILN_RETURN_IF_ERROR(Start(header));
      }
    }
    return std::move(out_);
  }

 private:
  // A value that instructions read from a tile memory: of every thread, or the same for all.
  struct Stored {
    std::vector<int32_t> fixed;  // kBlock rows
    int beat = -1;               // of a thread's data
    bool ring = false;           // one row for each entry of the ring
    std::vector<int32_t> rows;   // of this block
  };
  struct Ring {
    Delivery delivery;
    int beat = 0;
  };

  std::span<const uint8_t> Beat(size_t beat) const {
    return stream_.subspan(beat * beat_bytes_, beat_bytes_);
  }
  Status Error(const std::string& fault, const std::string& remedy) const {
    return ErrorAt("", fmt::format("stream in, beat {}", next_ - 1), fault, remedy);
  }

  Status Write(const Header& header) {
    const std::array<Target, kWriteTargets> targets = {
        Target{"memory 0", config_.memory_depth, 1}, Target{"memory 1", config_.memory_depth, 1},
        Target{"spoke RAM", config_.spoke_depth, 1},
        Target{"instruction RAM", config_.instruction_depth, 2},
        Target{"delivery table", std::ssize(machine_.deliveries_), 1}};
    const auto number = static_cast<size_t>(header.target);
    if (number >= targets.size()) {
      return Error(fmt::format("it writes target {}", number),
                   fmt::format("0 to {}", targets.size() - 1));
    }
    const Target& target = targets[number];
    if (header.target != WriteTarget::kDeliveries && header.tile >= config_.tiles()) {
      return Error(fmt::format("it writes to tile {}", header.tile),
                   fmt::format("0 to {}", config_.tiles() - 1));
    }
    if (header.beats % target.beats_of_entry != 0 ||
        header.address + header.beats / target.beats_of_entry > target.entries) {
      return Error(fmt::format("it writes {} beats from address {} of the {}", header.beats,
                               header.address, target.name),
                   fmt::format("{} entries", target.entries));
    }
    if (next_ + static_cast<size_t>(header.beats) > beats_) {
      return Error(fmt::format("{} beats follow a write of {}", beats_ - next_, header.beats),
                   "all of them");
    }
    for (int64_t i = 0; i < header.beats; ++i) WriteBeat(header, i, Beat(next_++));
    return OkStatus();
  }

  void WriteBeat(const Header& header, int64_t i, std::span<const uint8_t> beat) {
    auto address = static_cast<size_t>(header.address);
    if (header.target == WriteTarget::kDeliveries) {
      machine_.deliveries_[address + static_cast<size_t>(i)] = static_cast<uint32_t>(WordOf(beat));
      return;
    }
    FunctionalMachine::Tile& tile = machine_.tiles_[static_cast<size_t>(header.tile)];
    if (header.target == WriteTarget::kSpokes) {
      tile.spokes[address + static_cast<size_t>(i)] = static_cast<uint32_t>(WordOf(beat));
    } else if (header.target == WriteTarget::kInstructions) {
      tile.instructions[address + static_cast<size_t>(i / 2)][static_cast<size_t>(i % 2)] =
          WordOf(beat);
    } else {
      std::vector<int32_t>& memory = tile.memory[static_cast<size_t>(header.target)];
      ReadLanes(beat,
                std::span(memory).subspan((address + static_cast<size_t>(i)) * lanes_, lanes_));
    }
  }

  Status Start(const Header& header) {
    if (next_ >= beats_) return Error("no parameter beat follows a run", "a beat");
    const uint64_t parameters = WordOf(Beat(next_++));
    threads_ = static_cast<int64_t>(parameters & 0xffffffffU);
    first_sent_ = static_cast<int64_t>(parameters >> 32);
    if (header.interval < 1 || header.interval > config_.spoke_depth ||
        header.latency > config_.ring_entries * header.interval) {
      return Error(
          fmt::format("a run with interval {} and latency {}", header.interval, header.latency),
          fmt::format("intervals from 1 to {}, a latency of at most {} intervals",
                      config_.spoke_depth, config_.ring_entries));
    }
    if (header.outputs < 1 || header.outputs > config_.outputs) {
      return Error(fmt::format("a run with {} outputs", header.outputs),
                   fmt::format("1 to {}", config_.outputs));
    }
    KILN_RETURN_IF_ERROR(ReadDeliveries(header));
    const auto needed = static_cast<size_t>(threads_ * beats_of_thread_);
    if (next_ + needed > beats_) {
      return Error(fmt::format("{} beats follow a run of {} threads", beats_ - next_, threads_),
                   fmt::format("{} beats for each thread", beats_of_thread_));
    }
    std::vector<PlanTile> tiles(machine_.tiles_.size());
    for (size_t i = 0; i < tiles.size(); ++i) {
      const auto& spokes = machine_.tiles_[i].spokes;
      tiles[i] = {{spokes.begin(), spokes.begin() + header.interval},
                  &machine_.tiles_[i].instructions};
    }
    KILN_ASSIGN_OR_RETURN(plan_, MakePlan(tiles, config_));
    KILN_RETURN_IF_ERROR(FindOutputs(header));
    KILN_RETURN_IF_ERROR(FindStored());
    RunThreads();
    KeepRings();
    next_ += needed;
    return OkStatus();
  }

  Status ReadDeliveries(const Header& header) {
    rings_.clear();
    beats_of_thread_ = 0;
    for (int i = 0; i < header.deliveries; ++i) {
      const Delivery delivery = DecodeDelivery(machine_.deliveries_[static_cast<size_t>(i)]);
      KILN_RETURN_IF_ERROR(Check(delivery, config_, fmt::format("delivery {}", i)));
      if (i == 0 && delivery.same_beat) {
        return Error("the first delivery takes the beat of the one before it", "a beat of its own");
      }
      beats_of_thread_ += delivery.same_beat ? 0 : 1;
      for (const Ring& ring : rings_) {
        if (ring.delivery.tile == delivery.tile && ring.delivery.memory == delivery.memory &&
            std::abs(ring.delivery.base - delivery.base) < config_.ring_entries) {
          return Error(fmt::format("delivery {} overlaps another one", i),
                       fmt::format("{} entries for each", config_.ring_entries));
        }
      }
      rings_.push_back({delivery, static_cast<int>(beats_of_thread_ - 1)});
    }
    return OkStatus();
  }

  Status FindOutputs(const Header& header) {
    senders_.assign(static_cast<size_t>(header.outputs), -1);
    for (size_t i = 0; i < plan_.instructions.size(); ++i) {
      const PlanInstruction& instruction = plan_.instructions[i];
      const int output = instruction.spoke.output;
      if (output < 0) continue;
      const int ready =
          instruction.first_period * header.interval + instruction.slot + config_.pipeline_latency;
      if (output >= header.outputs || senders_[static_cast<size_t>(output)] >= 0 ||
          ready > header.latency) {
        return Error(fmt::format("tile {}, slot {} sends to output {} in cycle {}",
                                 instruction.tile, instruction.slot, output, ready),
                     fmt::format("one entry for each of {} outputs, until cycle {}", header.outputs,
                                 header.latency));
      }
      senders_[static_cast<size_t>(output)] = static_cast<int>(i);
    }
    const auto missing = std::ranges::find(senders_, -1);
    if (missing == senders_.end()) return OkStatus();
    return Error(fmt::format("no instruction sends to output {}", missing - senders_.begin()),
                 "one for each output");
  }

  // Finds what every read of a tile memory brings.
  Status FindStored() {
    stored_.assign(3 * plan_.instructions.size(), std::nullopt);
    for (size_t i = 0; i < plan_.instructions.size(); ++i) {
      const PlanInstruction& instruction = plan_.instructions[i];
      for (size_t operand = 0; operand < 3; ++operand) {
        const OperandKind kind = instruction.in[operand].kind;
        if (kind != OperandKind::kMemory0 && kind != OperandKind::kMemory1) continue;
        const int memory = kind == OperandKind::kMemory0 ? 0 : 1;
        KILN_ASSIGN_OR_RETURN(stored_[3 * i + operand], StoredAt(instruction, memory));
      }
    }
    return OkStatus();
  }

  // Returns what an instruction reads at an address of a tile memory. An address is either an input
  // of the run, whose value changes with the thread, or memory that no delivery of the run writes;
  // anything between depends on time and is refused.
  StatusOr<Stored> StoredAt(const PlanInstruction& instruction, int memory) const {
    const MemoryAddress& address = instruction.entry.memory[static_cast<size_t>(memory)];
    const int entries = address.ring ? config_.ring_entries : 1;
    Stored stored;
    stored.ring = address.ring;
    for (const Ring& ring : rings_) {
      const Delivery& at = ring.delivery;
      if (at.tile != instruction.tile || at.memory != memory) continue;
      if (address.ring && at.base == address.base) {
        stored.beat = ring.beat;
        stored.rows.resize(static_cast<size_t>(kBlock) * lanes_);
        return stored;
      }
      if (at.base < address.base + entries && address.base < at.base + config_.ring_entries) {
        return Error(fmt::format("tile {}, slot {} reads memory {} where inputs of other threads "
                                 "are written",
                                 instruction.tile, instruction.slot, memory),
                     "addresses of the thread's own input, or others");
      }
    }
    const std::vector<int32_t>& words =
        machine_.tiles_[static_cast<size_t>(instruction.tile)].memory[static_cast<size_t>(memory)];
    const int64_t rows = address.ring ? config_.ring_entries : kBlock;
    for (int64_t row = 0; row < rows; ++row) {
      const auto at = static_cast<size_t>(address.base + (address.ring ? row : 0)) * lanes_;
      stored.fixed.insert(stored.fixed.end(), words.begin() + static_cast<ptrdiff_t>(at),
                          words.begin() + static_cast<ptrdiff_t>(at + lanes_));
    }
    if (address.ring) stored.rows.resize(static_cast<size_t>(kBlock) * lanes_);
    return stored;
  }

  void RunThreads() {
    const size_t count = plan_.instructions.size();
    values_.assign(count, {});
    literals_.assign(count, {});
    for (size_t i = 0; i < count; ++i) {
      const auto history = static_cast<size_t>(plan_.history[i]);
      values_[i].assign((history + static_cast<size_t>(kBlock)) * lanes_, 0);
      literals_[i].assign(static_cast<size_t>(kBlock) * lanes_,
                          plan_.instructions[i].entry.literal);
    }
    zeros_.assign(static_cast<size_t>(kBlock) * lanes_, 0);
    for (auto& mixed : mixed_) mixed.resize(static_cast<size_t>(kBlock) * lanes_);
    const size_t sent = static_cast<size_t>(std::max<int64_t>(threads_ - first_sent_, 0));
    out_.reserve(out_.size() + sent * senders_.size() * beat_bytes_);
    for (int64_t begin = 0; begin < threads_; begin += kBlock) {
      RunBlock(begin, std::min(kBlock, threads_ - begin));
    }
  }

  // Computes the threads [begin, begin + rows). At the end, the last `history` rows of each
  // instruction move to the front of its values, where the next block finds them under negative row
  // numbers.
  void RunBlock(int64_t begin, int64_t rows) {
    for (std::optional<Stored>& stored : stored_) {
      if (stored) ReadBlock(begin, rows, &*stored);
    }
    for (const std::vector<int>& group : plan_.groups) {
      const bool alone = group.size() == 1 && !DependsOnItself(group[0]);
      if (alone) {
        Compute(group[0], begin, 0, rows);
        continue;
      }
      for (int64_t row = 0; row < rows; ++row) {
        for (const int i : group) Compute(i, begin, row, 1);
      }
    }
    for (int64_t row = 0; row < rows; ++row) {
      if (begin + row < first_sent_) continue;
      for (const int sender : senders_) {
        AppendLanes(config_, {RowOf(sender, row), lanes_}, &out_);
      }
    }
    for (size_t i = 0; i < values_.size(); ++i) {
      const auto history =
          static_cast<ptrdiff_t>(plan_.history[i]) * static_cast<ptrdiff_t>(lanes_);
      const auto end = values_[i].begin() + history + rows * static_cast<ptrdiff_t>(lanes_);
      std::copy(end - history, end, values_[i].begin());
    }
  }

  bool DependsOnItself(int i) const {
    return std::ranges::any_of(plan_.instructions[static_cast<size_t>(i)].in,
                               [i](const PlanOperand& operand) { return operand.from == i; });
  }

  // Returns the lanes that instruction i has computed for a row of the block; row may be negative.
  int32_t* RowOf(int i, int64_t row) {
    const int64_t at = plan_.history[static_cast<size_t>(i)] + row;
    return values_[static_cast<size_t>(i)].data() + static_cast<size_t>(at) * lanes_;
  }

  void ReadBlock(int64_t begin, int64_t rows, Stored* stored) {
    if (stored->rows.empty()) return;
    for (int64_t row = 0; row < rows; ++row) {
      const std::span<int32_t> to =
          std::span(stored->rows).subspan(static_cast<size_t>(row) * lanes_, lanes_);
      const int64_t thread = begin + row;
      if (stored->beat >= 0) {
        ReadLanes(Beat(next_ + static_cast<size_t>(thread * beats_of_thread_ + stored->beat)), to);
      } else {
        const auto at = static_cast<size_t>(thread % config_.ring_entries) * lanes_;
        std::copy_n(stored->fixed.begin() + static_cast<ptrdiff_t>(at), lanes_, to.begin());
      }
    }
  }

  // Computes instruction i for `rows` threads of the block that begins with thread `begin`.
  void Compute(int i, int64_t begin, int64_t row, int64_t rows) {
    const PlanInstruction& instruction = plan_.instructions[static_cast<size_t>(i)];
    std::array<const int32_t*, 3> in = {};
    const auto offset = static_cast<size_t>(row) * lanes_;
    for (size_t operand = 0; operand < 3; ++operand) {
      const PlanOperand& from = instruction.in[operand];
      switch (from.kind) {
        case OperandKind::kNone:
          in[operand] = zeros_.data();
          break;
        case OperandKind::kLiteral:
          in[operand] = literals_[static_cast<size_t>(i)].data();
          break;
        case OperandKind::kMemory0:
        case OperandKind::kMemory1: {
          const Stored& stored = *stored_[3 * static_cast<size_t>(i) + operand];
          in[operand] = (stored.rows.empty() ? stored.fixed : stored.rows).data() + offset;
          break;
        }
        case OperandKind::kMessage:
          in[operand] = MessageOf(i, from, begin, row, rows, &mixed_[operand]);
          break;
      }
    }
    ComputeLanes(instruction.entry, in, static_cast<size_t>(rows) * lanes_, RowOf(i, row));
  }

  const int32_t* MessageOf(int i, const PlanOperand& from, int64_t begin, int64_t row, int64_t rows,
                           std::vector<int32_t>* mixed) {
    if (from.from < 0) return literals_[static_cast<size_t>(i)].data();
    const int64_t thread = begin + row;
    if (thread >= from.distance) return RowOf(from.from, row - from.distance);
    // The first threads get the literal, as no message came before them.
    const int64_t first = std::min(rows, from.distance - thread);
    const auto split = static_cast<ptrdiff_t>(static_cast<size_t>(first) * lanes_);
    std::fill(mixed->begin(), mixed->begin() + split,
              plan_.instructions[static_cast<size_t>(i)].entry.literal);
    const int32_t* rest = RowOf(from.from, row + first - from.distance);
    std::copy_n(rest, static_cast<size_t>(rows - first) * lanes_, mixed->begin() + split);
    return mixed->data();
  }

  // Leaves in tile memories what the run wrote there.
  void KeepRings() {
    const int64_t kept = std::min<int64_t>(threads_, config_.ring_entries);
    for (const Ring& ring : rings_) {
      std::vector<int32_t>& memory = machine_.tiles_[static_cast<size_t>(ring.delivery.tile)]
                                         .memory[static_cast<size_t>(ring.delivery.memory)];
      for (int64_t thread = threads_ - kept; thread < threads_; ++thread) {
        const auto at =
            static_cast<size_t>(ring.delivery.base + thread % config_.ring_entries) * lanes_;
        ReadLanes(Beat(next_ + static_cast<size_t>(thread * beats_of_thread_ + ring.beat)),
                  std::span(memory).subspan(at, lanes_));
      }
    }
  }

  FunctionalMachine& machine_;
  const Config& config_;
  const std::span<const uint8_t> stream_;
  size_t beat_bytes_ = 0, lanes_ = 0, beats_ = 0;
  size_t next_ = 0;  // the next beat; in a run the first beat of its data
  std::vector<uint8_t> out_;
  // Of a run.
  int64_t threads_ = 0, first_sent_ = 0, beats_of_thread_ = 0;
  std::vector<Ring> rings_;
  Plan plan_;
  std::vector<int> senders_;                    // by output: the instruction
  std::vector<std::optional<Stored>> stored_;   // by instruction and operand
  std::vector<std::vector<int32_t>> values_;    // by instruction: history, then the block
  std::vector<std::vector<int32_t>> literals_;  // by instruction: kBlock rows
  std::vector<int32_t> zeros_;
  std::array<std::vector<int32_t>, 3> mixed_;
};

StatusOr<std::vector<uint8_t>> FunctionalMachine::Run(std::span<const uint8_t> stream) {
  return FunctionalRun(this, stream).Execute();
}

StatusOr<std::vector<int32_t>> ExecuteFunctional(const CgraProgram& program, int64_t threads,
                                                 std::span<const int32_t> data) {
  KILN_RETURN_IF_ERROR(Check(program));
  std::vector<uint8_t> stream;
  AppendLoad(program, &stream);
  AppendRun(program, threads, 0, data, &stream);
  FunctionalMachine machine(program.config);
  KILN_ASSIGN_OR_RETURN(const std::vector<uint8_t> out, machine.Run(stream));
  std::vector<int32_t> lanes(out.size() / sizeof(int32_t));
  ReadLanes(out, lanes);
  return lanes;
}

}  // namespace kiln::cgra
