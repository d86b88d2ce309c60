// Places random instructions.
#include "tests/rtl/cgra/placed_program.h"

#include <algorithm>
#include <cstdlib>

#include "fmt/format.h"
#include "kiln/support/check.h"

namespace kiln::cgra {
namespace {

struct PlacedInstruction {
  int tile = 0, issue = 0;
  int master = -1;  // -1: base
  int delay = 0;    // of the master
};

class Placer {
 public:
  Placer(const Config& config, Random* random) : config_(config), random_(*random) {
    program_.name = "placed";
    program_.config = config;
    program_.interval = 1 + Below(std::min(config.spoke_depth, 8));
    program_.tiles.resize(static_cast<size_t>(config.tiles()));
    for (TileProgram& tile : program_.tiles) {
      tile.spokes.resize(static_cast<size_t>(program_.interval));
      tile.names.resize(static_cast<size_t>(program_.interval));
    }
  }

  CgraProgram Place() {
    const int most = config_.tiles() * program_.interval;
    const int wanted = 1 + Below(most);
    for (int tries = 0; tries < 8 * wanted && Count() < wanted; ++tries) PlaceOne();
    if (placed_.empty()) Add({.tile = 0, .issue = 0});
    FillMemories();
    for (size_t i = 0; i < placed_.size(); ++i) Describe(i);
    ChooseOutputs();
    for (const PlacedInstruction& at : placed_)
      program_.latency = std::max(program_.latency, at.issue + config_.pipeline_latency);
    program_.latency = std::max(program_.latency, 1);
    return std::move(program_);
  }

 private:
  int Below(int bound) { return static_cast<int>(random_.Below(static_cast<uint64_t>(bound))); }
  int Count() const { return static_cast<int>(placed_.size()); }
  SpokeEntry& SpokeOf(const PlacedInstruction& at) {
    return program_.tiles[static_cast<size_t>(at.tile)]
        .spokes[static_cast<size_t>(at.issue % program_.interval)];
  }
  bool Reaches(int from, int to) const { return std::abs(from - to) <= config_.reach; }
  int Arrival(const PlacedInstruction& from, int to) const {
    return from.issue + config_.pipeline_latency + std::abs(from.tile - to);
  }

  void PlaceOne() {
    PlacedInstruction at{.tile = Below(config_.tiles()), .issue = Below(program_.interval)};
    if (!placed_.empty() && Below(3) != 0) {
      const int master = Below(Count());
      const PlacedInstruction& from = placed_[static_cast<size_t>(master)];
      if (!Reaches(from.tile, at.tile)) return;
      at.master = master;
      at.delay = Below(config_.wait_limit + 1);
      at.issue = Arrival(from, at.tile) + at.delay;
    }
    // The inputs of a thread stay in the memories for ring_entries periods.
    if (at.issue + config_.pipeline_latency > config_.ring_entries * program_.interval) return;
    if (!SpokeOf(at).valid) Add(at);
  }
  void Add(const PlacedInstruction& at) {
    placed_.push_back(at);
    SpokeEntry& spoke = SpokeOf(at);
    spoke.valid = true;
    spoke.base = at.master < 0;
    if (at.master < 0) return;
    const PlacedInstruction& from = placed_[static_cast<size_t>(at.master)];
    spoke.master_line = LineOf(config_, from.tile - at.tile);
    spoke.master_delay = at.delay;
    Drive(from, at.tile);
  }
  void Drive(const PlacedInstruction& from, int to) {
    if (from.tile != to) SpokeOf(from).links |= 1U << LineOf(config_, to - from.tile);
  }

  // Each memory may have a ring of inputs below ring_entries, and constants above.
  void FillMemories() {
    for (int tile = 0; tile < config_.tiles(); ++tile) {
      for (int memory = 0; memory < 2; ++memory) {
        if (Below(3) == 0) {
          const bool same = !program_.deliveries.empty() && Below(3) == 0;
          program_.deliveries.push_back(
              {.tile = tile, .memory = memory, .base = 0, .same_beat = same});
          if (!same) {
            program_.beats.push_back(static_cast<int>(program_.inputs.size()));
            program_.inputs.push_back(fmt::format("in{}", program_.inputs.size()));
          }
          rings_.push_back(2 * tile + memory);
        }
        for (int address = config_.ring_entries; address < config_.memory_depth; ++address) {
          MemoryContent content{
              .tile = tile, .memory = memory, .address = address, .name = "c", .lanes = {}};
          for (int lane = 0; lane < config_.lanes; ++lane) content.lanes.push_back(Number());
          program_.contents.push_back(std::move(content));
        }
      }
    }
  }
  int32_t Number() {
    const auto bits = static_cast<int32_t>(static_cast<uint32_t>(random_()));
    return Below(3) == 0 ? Below(8) - 4 : bits >> Below(32);
  }
  MemoryAddress AddressOf(int tile, int memory) {
    const bool ring = std::ranges::count(rings_, 2 * tile + memory) > 0 &&
                      (Below(2) == 0 || config_.memory_depth == config_.ring_entries);
    if (ring || config_.memory_depth == config_.ring_entries) return {.base = 0, .ring = ring};
    return {.base = config_.ring_entries + Below(config_.memory_depth - config_.ring_entries)};
  }

  Operand OperandOf(const PlacedInstruction& at) {
    const auto kind = static_cast<OperandKind>(Below(kOperandKinds));
    if (kind == OperandKind::kMemory0 || kind == OperandKind::kMemory1) {
      const int memory = kind == OperandKind::kMemory1 ? 1 : 0;
      // Without inputs and constants a memory has nothing to read.
      if (config_.memory_depth == config_.ring_entries &&
          std::ranges::count(rings_, 2 * at.tile + memory) == 0) {
        return {};
      }
    }
    if (kind != OperandKind::kMessage) return {.kind = kind};
    for (int tries = 0; tries < 4; ++tries) {
      const PlacedInstruction& from = placed_[static_cast<size_t>(Below(Count()))];
      if (!Reaches(from.tile, at.tile)) continue;
      // The message of this thread, or the first one before it that has arrived.
      int delay = at.issue - Arrival(from, at.tile);
      while (delay < 0) delay += program_.interval;
      delay += Below(3) * program_.interval;
      if (delay > config_.wait_limit) continue;
      Drive(from, at.tile);
      return {.kind = kind, .line = LineOf(config_, from.tile - at.tile), .delay = delay};
    }
    return {.kind = OperandKind::kLiteral};
  }

  void Describe(size_t index) {
    const PlacedInstruction at = placed_[index];
    TileProgram& tile = program_.tiles[static_cast<size_t>(at.tile)];
    InstructionEntry entry;
    entry.multiply = static_cast<MultiplyOp>(Below(config_.floats ? 6 : 5));
    do {
      entry.logic = static_cast<LogicOp>(Below(kLogicOps));
    } while (!config_.floats && entry.logic >= LogicOp::kFloatAdd &&
             entry.logic <= LogicOp::kFloatReverseSubtract);
    entry.gated = Below(6) == 0;
    for (Operand& in : entry.in) in = OperandOf(at);
    for (int memory = 0; memory < 2; ++memory)
      entry.memory[static_cast<size_t>(memory)] = AddressOf(at.tile, memory);
    entry.literal = Number();
    SpokeEntry& spoke = SpokeOf(at);
    // Some instructions are shared by two slots of a tile: not if they have messages, which are
    // those of one of them.
    spoke.instruction = static_cast<int>(tile.instructions.size());
    tile.instructions.push_back(entry);
  }

  void ChooseOutputs() {
    const int outputs = std::min(1 + Below(config_.outputs), Count());
    for (int output = 0; output < outputs; ++output) {
      int choice = Below(Count());
      while (SpokeOf(placed_[static_cast<size_t>(choice)]).output >= 0)
        choice = (choice + 1) % Count();
      SpokeOf(placed_[static_cast<size_t>(choice)]).output = output;
      program_.outputs.push_back(fmt::format("out{}", output));
      program_.output_issues.push_back(placed_[static_cast<size_t>(choice)].issue);
    }
  }

  const Config& config_;
  Random& random_;
  CgraProgram program_;
  std::vector<PlacedInstruction> placed_;
  std::vector<int> rings_;  // 2 * tile + memory
};

}  // namespace

CgraProgram PlacedProgram(const Config& config, Random* random) {
  // Programs are refused if one output has more results than its queue holds while another has none
  // yet.
  for (int tries = 0; tries < 1000; ++tries) {
    CgraProgram program = Placer(config, random).Place();
    if (Check(program).ok()) return program;
  }
  KILN_CHECK(false);
  return {};
}

std::vector<int32_t> RandomData(const CgraProgram& program, int64_t threads, Random* random) {
  std::vector<int32_t> data(static_cast<size_t>(threads) * program.inputs.size() *
                            static_cast<size_t>(program.config.lanes));
  for (int32_t& value : data)
    value = static_cast<int32_t>(static_cast<uint32_t>((*random)())) >> random->Below(32);
  return data;
}

int64_t AppendRandomRuns(const Config& config, Random* random, std::vector<uint8_t>* stream) {
  int64_t beats = 0;
  const auto programs = 1 + random->Below(2);
  for (uint64_t i = 0; i < programs; ++i) {
    const CgraProgram program = PlacedProgram(config, random);
    AppendLoad(program, stream);
    const auto runs = 1 + random->Below(2);
    for (uint64_t run = 0; run < runs; ++run) {
      const auto threads = static_cast<int64_t>(1 + random->Below(40));
      const auto first = random->Below(3) == 0
                             ? static_cast<int64_t>(random->Below(static_cast<uint64_t>(threads)))
                             : 0;
      AppendRun(program, threads, first, RandomData(program, threads, random), stream);
      beats += (threads - first) * std::ssize(program.outputs);
    }
  }
  return beats;
}

}  // namespace kiln::cgra
