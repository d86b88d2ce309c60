// One fabric cycle: links and delay lines shift, instructions issue, pipelines advance.

#include "kiln/targets/cgra/simulate/cycle/fabric.h"

#include <algorithm>

#include "fmt/format.h"
#include "kiln/targets/cgra/simulate/cycle/units.h"

namespace kiln::cgra {

Fabric::Fabric(const Config& config) : config_(config), lanes_(static_cast<size_t>(config.lanes)) {
  tiles_.resize(static_cast<size_t>(config.tiles()));
  for (Tile& tile : tiles_) {
    tile.spoke_words.resize(static_cast<size_t>(config.spoke_depth), 0);
    tile.instruction_words.resize(static_cast<size_t>(config.instruction_depth), {0, 0});
    for (auto& memory : tile.memory) {
      memory.resize(static_cast<size_t>(config.memory_depth) * lanes_, 0);
    }
  }
  line_length_ = config.wait_limit + 1;
  // A message is read at the latest after the pipeline, the longest link and the longest delay.
  store_length_ = config.pipeline_latency + config.reach + line_length_ + 1;
  for (auto& operand : in_) operand.resize(lanes_);
}

void Fabric::WriteMemory(int tile, int memory, int address, std::span<const uint32_t> lanes) {
  auto& words = tiles_[static_cast<size_t>(tile)].memory[static_cast<size_t>(memory)];
  std::ranges::copy(lanes,
                    words.begin() + static_cast<ptrdiff_t>(static_cast<size_t>(address) * lanes_));
}

void Fabric::WriteSpoke(int tile, int slot, uint32_t word) {
  tiles_[static_cast<size_t>(tile)].spoke_words[static_cast<size_t>(slot)] = word;
}

void Fabric::WriteInstruction(int tile, int address, const InstructionWord& word) {
  tiles_[static_cast<size_t>(tile)].instruction_words[static_cast<size_t>(address)] = word;
}

Status Fabric::Begin(int interval) {
  cycle_ = 0;
  for (size_t t = 0; t < tiles_.size(); ++t) {
    Tile& tile = tiles_[t];
    tile.spokes.clear();
    tile.instructions.clear();
    for (int slot = 0; slot < interval; ++slot) {
      const std::string place = fmt::format("tile {}, slot {}", t, slot);
      const SpokeEntry spoke = DecodeSpoke(tile.spoke_words[static_cast<size_t>(slot)]);
      KILN_RETURN_IF_ERROR(Check(spoke, config_, place));
      InstructionEntry entry;
      if (spoke.valid) {
        entry = DecodeInstruction(tile.instruction_words[static_cast<size_t>(spoke.instruction)]);
        KILN_RETURN_IF_ERROR(Check(entry, config_, place));
      }
      tile.spokes.push_back(spoke);
      tile.instructions.push_back(entry);
    }
    tile.pipeline.assign(static_cast<size_t>(config_.pipeline_latency), {});
    tile.links.clear();
    for (int link = 0; link < LinksOf(config_); ++link) {
      const auto hops = static_cast<size_t>(std::abs(OffsetOf(config_, link)));
      tile.links.emplace_back(hops);
    }
    tile.lines.assign(static_cast<size_t>(LinesOf(config_)),
                      std::vector<Message>(static_cast<size_t>(line_length_)));
    tile.store.assign(static_cast<size_t>(store_length_) * lanes_, 0);
  }
  return OkStatus();
}

// Gives every line of every tile the message that arrives in this cycle, and moves links on.
void Fabric::Arrive() {
  const auto now = static_cast<size_t>(cycle_ % line_length_);
  const auto own = static_cast<size_t>(LineOf(config_, 0));
  for (size_t t = 0; t < tiles_.size(); ++t) {
    tiles_[t].lines[own][now] = tiles_[t].pipeline.back().message;
    for (int line = 0; line < LinksOf(config_); ++line) {
      const int from = static_cast<int>(t) + OffsetOf(config_, line);
      Message& arriving = tiles_[t].lines[static_cast<size_t>(line)][now];
      arriving = {};
      if (from < 0 || from >= static_cast<int>(tiles_.size())) continue;
      const int link = LineOf(config_, -OffsetOf(config_, line));
      arriving = tiles_[static_cast<size_t>(from)].links[static_cast<size_t>(link)].back();
    }
  }
  for (Tile& tile : tiles_) {
    const Result& result = tile.pipeline.back();
    for (size_t link = 0; link < tile.links.size(); ++link) {
      std::vector<Message>& registers = tile.links[link];
      std::rotate(registers.begin(), registers.end() - 1, registers.end());
      registers.front() = result.message;
      registers.front().valid = result.message.valid && (result.links >> link & 1) != 0;
    }
    // The result register takes the next result, and so on.
    std::rotate(tile.pipeline.begin(), tile.pipeline.end() - 1, tile.pipeline.end());
    tile.pipeline.front() = {};
  }
}

// Returns the message that arrived on a line `delay` cycles ago. Lines are rings of the last
// wait_limit + 1 arrivals.
const Fabric::Message& Fabric::At(const Tile& tile, int line, int delay) const {
  const int64_t at = (cycle_ + line_length_ - delay) % line_length_;
  return tile.lines[static_cast<size_t>(line)][static_cast<size_t>(at)];
}

void Fabric::Issue(int number, int slot, const Message& base) {
  const Tile& tile = tiles_[static_cast<size_t>(number)];
  const SpokeEntry& spoke = tile.spokes[static_cast<size_t>(slot)];
  if (!spoke.valid) return;
  const Message& master = spoke.base ? base : At(tile, spoke.master_line, spoke.master_delay);
  if (!master.valid) return;
  Compute(number, spoke, tile.instructions[static_cast<size_t>(slot)], master.thread);
}

// Selects operands and computes. The result waits in the pipeline until its register takes it.
void Fabric::Compute(int number, const SpokeEntry& spoke, const InstructionEntry& entry,
                     int thread) {
  Tile& tile = tiles_[static_cast<size_t>(number)];
  for (size_t i = 0; i < 3; ++i) {
    const Operand& operand = entry.in[i];
    uint32_t all = operand.kind == OperandKind::kNone ? 0 : static_cast<uint32_t>(entry.literal);
    const uint32_t* lanes = nullptr;
    if (operand.kind == OperandKind::kMessage) {
      const Message& message = At(tile, operand.line, operand.delay);
      if (message.valid) {
        lanes = tiles_[static_cast<size_t>(message.tile)].store.data() +
                static_cast<size_t>(message.place) * lanes_;
      }
    } else if (operand.kind == OperandKind::kMemory0 || operand.kind == OperandKind::kMemory1) {
      const size_t memory = operand.kind == OperandKind::kMemory0 ? 0 : 1;
      const int address = entry.memory[memory].base + (entry.memory[memory].ring ? thread : 0);
      lanes = tile.memory[memory].data() + static_cast<size_t>(address) * lanes_;
    }
    for (size_t lane = 0; lane < lanes_; ++lane)
      in_[i][lane] = lanes != nullptr ? lanes[lane] : all;
  }
  const auto place = static_cast<int>(cycle_ % store_length_);
  uint32_t* result = tile.store.data() + static_cast<size_t>(place) * lanes_;
  for (size_t lane = 0; lane < lanes_; ++lane) {
    const uint32_t m = MultiplyUnit(entry.multiply, in_[0][lane], in_[1][lane]);
    const uint32_t value = LogicUnit(entry.logic, m, in_[1][lane], in_[2][lane]);
    result[lane] = entry.gated && in_[1][lane] == 0 ? 0 : value;
  }
  tile.pipeline.front() = {
      .message = {true, thread, number, place}, .links = spoke.links, .output = spoke.output};
  ++tile.fired;
}

// Messages arrive before instructions issue, so a message can be used with delay 0 in the cycle of
// its arrival.
const std::vector<FabricResult>& Fabric::Cycle(int slot, bool base_valid, int base_thread) {
  Arrive();
  const Message base{.valid = base_valid, .thread = base_thread};
  for (int t = 0; t < config_.tiles(); ++t) Issue(t, slot, base);
  results_.clear();
  for (const Tile& tile : tiles_) {
    const Result& result = tile.pipeline.back();
    if (!result.message.valid || result.output < 0) continue;
    const size_t at = static_cast<size_t>(result.message.place) * lanes_;
    results_.push_back({result.output, std::span(tile.store).subspan(at, lanes_)});
  }
  ++cycle_;
  return results_;
}

}  // namespace kiln::cgra
