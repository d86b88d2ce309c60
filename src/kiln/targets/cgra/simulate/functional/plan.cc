// Follows messages backwards from operands to the instructions that send them.

#include "kiln/targets/cgra/simulate/functional/plan.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "fmt/format.h"

namespace kiln::cgra {
namespace {

// The sender of a message, and in which earlier period of the fabric it issued.
struct Sender {
  int instruction = -1;
  int periods = 0;
};

// Turns time into dependences. A message that arrives on a line was sent a known number of cycles
// earlier, so the slot modulo the interval identifies the sending instruction, and the number of
// periods between the two says how many threads lie between producer and consumer.
class Planner {
 public:
  Planner(const std::vector<PlanTile>& tiles, const Config& config)
      : tiles_(tiles), config_(config), interval_(static_cast<int>(tiles[0].spokes.size())) {}

  StatusOr<Plan> Make() {
    KILN_RETURN_IF_ERROR(ReadEntries());
    FindFirstPeriods();
    DropSilent();
    KILN_RETURN_IF_ERROR(FindOperands());
    KILN_RETURN_IF_ERROR(FindGroups());
    return std::move(plan_);
  }

 private:
  Status ReadEntries() {
    at_.assign(tiles_.size() * static_cast<size_t>(interval_), -1);
    for (size_t tile = 0; tile < tiles_.size(); ++tile) {
      for (int slot = 0; slot < interval_; ++slot) {
        PlanInstruction instruction{
            .tile = static_cast<int>(tile),
            .slot = slot,
            .spoke = DecodeSpoke(tiles_[tile].spokes[static_cast<size_t>(slot)]),
            .entry = {},
            .in = {}};
        if (!instruction.spoke.valid) continue;
        const std::string place = fmt::format("tile {}, slot {}", tile, slot);
        KILN_RETURN_IF_ERROR(Check(instruction.spoke, config_, place));
        instruction.entry = DecodeInstruction(
            (*tiles_[tile].instructions)[static_cast<size_t>(instruction.spoke.instruction)]);
        KILN_RETURN_IF_ERROR(Check(instruction.entry, config_, place));
        At(static_cast<int>(tile), slot) = static_cast<int>(plan_.instructions.size());
        plan_.instructions.push_back(instruction);
      }
    }
    return OkStatus();
  }

  int& At(int tile, int slot) { return at_[static_cast<size_t>(tile * interval_ + slot)]; }

  // Returns who sends the message that is on this line of the tile, `delay` cycles before the slot.
  Sender SenderOf(const PlanInstruction& to, int line, int delay) {
    const int offset = OffsetOf(config_, line);
    const int tile = to.tile + offset;
    if (tile < 0 || tile >= static_cast<int>(tiles_.size())) return {};
    const int issue = to.slot - delay - std::abs(offset) - config_.pipeline_latency;
    const int slot = ((issue % interval_) + interval_) % interval_;
    const int sender = At(tile, slot);
    if (sender < 0) return {};
    const uint32_t links = plan_.instructions[static_cast<size_t>(sender)].spoke.links;
    if (offset != 0 && (links >> LineOf(config_, -offset) & 1) == 0) return {};
    return {sender, (slot - issue) / interval_};
  }

  // An instruction fires with its master: in the period of thread 0 plus the thread's number.
  void FindFirstPeriods() {
    enum class State : uint8_t { kNew, kOpen, kFires, kSilent };
    std::vector<State> state(plan_.instructions.size(), State::kNew);
    for (size_t first = 0; first < plan_.instructions.size(); ++first) {
      // Walks up the chain of masters to one that is known, then down again.
      std::vector<size_t> chain;
      size_t at = first;
      while (state[at] == State::kNew) {
        state[at] = State::kOpen;
        chain.push_back(at);
        const PlanInstruction& instruction = plan_.instructions[at];
        if (instruction.spoke.base) {
          state[at] = State::kFires;
          break;
        }
        const Sender sender =
            SenderOf(instruction, instruction.spoke.master_line, instruction.spoke.master_delay);
        if (sender.instruction < 0) {
          state[at] = State::kSilent;
          break;
        }
        at = static_cast<size_t>(sender.instruction);
      }
      // A chain that returns to itself never begins.
      bool fires = state[at] == State::kFires;
      for (auto link = chain.rbegin(); link != chain.rend(); ++link) {
        PlanInstruction& instruction = plan_.instructions[*link];
        if (fires && !instruction.spoke.base) {
          const Sender sender =
              SenderOf(instruction, instruction.spoke.master_line, instruction.spoke.master_delay);
          instruction.first_period =
              plan_.instructions[static_cast<size_t>(sender.instruction)].first_period +
              sender.periods;
        }
        state[*link] = fires ? State::kFires : State::kSilent;
      }
    }
    fires_.resize(state.size());
    for (size_t i = 0; i < state.size(); ++i) fires_[i] = state[i] == State::kFires;
  }

  // Removes instructions that never fire, and renumbers the others.
  void DropSilent() {
    std::vector<PlanInstruction> kept;
    for (size_t i = 0; i < plan_.instructions.size(); ++i) {
      PlanInstruction& instruction = plan_.instructions[i];
      At(instruction.tile, instruction.slot) = fires_[i] ? static_cast<int>(kept.size()) : -1;
      if (fires_[i]) kept.push_back(instruction);
    }
    plan_.instructions = std::move(kept);
  }

  Status FindOperands() {
    plan_.history.assign(plan_.instructions.size(), 0);
    for (PlanInstruction& to : plan_.instructions) {
      for (size_t i = 0; i < 3; ++i) {
        const Operand& operand = to.entry.in[i];
        to.in[i].kind = operand.kind;
        if (operand.kind != OperandKind::kMessage) continue;
        const Sender sender = SenderOf(to, operand.line, operand.delay);
        if (sender.instruction < 0) continue;
        const PlanInstruction& from = plan_.instructions[static_cast<size_t>(sender.instruction)];
        const int distance = sender.periods + from.first_period - to.first_period;
        if (distance < 0) {
          return ErrorAt("", fmt::format("tile {}, slot {}", to.tile, to.slot),
                         fmt::format("in{} is a message of a later thread", i + 1),
                         "one of the master's thread or of an earlier one");
        }
        to.in[i].from = sender.instruction;
        to.in[i].distance = distance;
        int& history = plan_.history[static_cast<size_t>(sender.instruction)];
        history = std::max(history, distance);
      }
    }
    return OkStatus();
  }

  // Finds strongly connected components by Tarjan's algorithm: producers come before consumers.
  Status FindGroups() {
    const size_t count = plan_.instructions.size();
    std::vector<int> number(count, -1), low(count, 0);
    std::vector<bool> open(count, false);
    std::vector<int> stack;
    int next = 0;
    const std::function<void(int)> visit = [&](int v) {
      const auto at = static_cast<size_t>(v);
      number[at] = low[at] = next++;
      stack.push_back(v);
      open[at] = true;
      for (const PlanOperand& operand : plan_.instructions[at].in) {
        if (operand.from < 0) continue;
        const auto from = static_cast<size_t>(operand.from);
        if (number[from] < 0) {
          visit(operand.from);
          low[at] = std::min(low[at], low[from]);
        } else if (open[from]) {
          low[at] = std::min(low[at], number[from]);
        }
      }
      if (low[at] != number[at]) return;
      std::vector<int> group;
      int member = -1;
      do {
        member = stack.back();
        stack.pop_back();
        open[static_cast<size_t>(member)] = false;
        group.push_back(member);
      } while (member != v);
      plan_.groups.push_back(std::move(group));
    };
    for (size_t i = 0; i < count; ++i) {
      if (number[i] < 0) visit(static_cast<int>(i));
    }
    // Within a thread, what issues earlier is computed earlier: messages take time.
    for (std::vector<int>& group : plan_.groups) {
      std::ranges::sort(group, {}, [this](int i) {
        const PlanInstruction& instruction = plan_.instructions[static_cast<size_t>(i)];
        return std::pair(instruction.first_period * interval_ + instruction.slot, i);
      });
    }
    return OkStatus();
  }

  const std::vector<PlanTile>& tiles_;
  const Config& config_;
  const int interval_;
  std::vector<int> at_;  // by tile and slot: the instruction, or -1
  std::vector<bool> fires_;
  Plan plan_;
};

}  // namespace

StatusOr<Plan> MakePlan(const std::vector<PlanTile>& tiles, const Config& config) {
  return Planner(tiles, config).Make();
}

}  // namespace kiln::cgra
