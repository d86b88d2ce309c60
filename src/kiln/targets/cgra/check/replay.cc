// Replays threads on the cells and links of the array: every instruction in every cycle that it
// issues in, every message on every link that it takes. The initiation interval enters only as the
// cycle in which a thread begins.

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "fmt/format.h"
#include "kiln/targets/cgra/check/parts.h"

namespace kiln::cgra::check {
namespace {

constexpr int64_t kMostEvents = 1 << 17;  // issues and messages in one replay

struct Event {
  int unit = 0;
  int64_t thread = 0;
  friend bool operator==(const Event&, const Event&) = default;
};

// Marks each tile and each link with what uses it in each cycle; two marks on one of them are a
// collision. A pair of instructions that collides is reported once, with the first cycle.
class ThreadReplay {
 public:
  ThreadReplay(const ComputationGraph& graph, const Config& config, int64_t interval,
               const Units& units, Findings* findings)
      : graph_(graph),
        config_(config),
        interval_(interval),
        units_(units),
        array_(config),
        findings_(findings) {}

  void Run() {
    const int64_t threads = Threads();
    for (int64_t thread = 0; thread < threads; ++thread) {
      for (int u = 0; u < std::ssize(units_.units); ++u) Issue(u, thread);
      for (size_t w = 0; w < units_.waits.size(); ++w) Send(w, thread);
    }
  }

 private:
  const Unit& At(int unit) const { return units_.units[static_cast<size_t>(unit)]; }

  // Returns how many threads show everything: while the first is under way, all that can meet it
  // begin. Fewer if that are too many events.
  int64_t Threads() const {
    int64_t last = 0;
    for (const Unit& unit : units_.units) {
      if (unit.usable) last = std::max(last, unit.issue);
    }
    const int64_t longest_way =
        (config_.rows + config_.columns) * int64_t{config_.hop_cycles} + config_.pipeline_latency;
    const int64_t needed = (last + longest_way) / interval_ + 2;
    const auto each = static_cast<int64_t>(units_.units.size() + units_.waits.size());
    return std::clamp<int64_t>(kMostEvents / std::max<int64_t>(each, 1), 2, needed);
  }

  void Issue(int u, int64_t thread) {
    const Unit& unit = At(u);
    if (!unit.usable) return;
    const int64_t cycle = unit.issue + thread * interval_;
    const Event event{u, thread};
    const auto [at, added] = issued_.emplace(std::pair(unit.tile, cycle), event);
    if (added || !reported_.emplace(at->second.unit, u, -1).second) return;
    Report(
        {at->second.unit, u},
        fmt::format("in cycle {}, {} of thread {} and {} of thread {} both issue on tile {}", cycle,
                    At(at->second.unit).name, at->second.thread, unit.name, thread, unit.tile));
  }

  // Sends the value that a wait of a later thread is for, and looks whether it comes in time.
  void Send(size_t w, int64_t thread) {
    const Wait& wait = units_.waits[w];
    const Unit &from = At(wait.from), &to = At(wait.to);
    if (!from.usable || !to.usable) return;
    if (wait.moves && !array_.Reaches(from.tile, to.tile)) return;  // it never comes
    int64_t cycle = from.issue + thread * interval_ + config_.pipeline_latency;
    if (wait.moves) {
      for (const Hop& hop : array_.Route(from.tile, to.tile)) {
        Occupy(hop, cycle, {wait.from, thread});
        cycle += hop.length * config_.hop_cycles;
      }
    }
    const int64_t used = to.issue + (thread + wait.distance) * interval_;
    const bool waits_long =
        wait.moves && config_.wait_limit >= 0 && used - cycle > config_.wait_limit;
    if ((used >= cycle && !waits_long) || !late_.insert(w).second) return;
    Report(
        {wait.from, wait.to},
        fmt::format("{} of thread {} issues in cycle {}, {} of {} of thread {} is there in cycle "
                    "{}{}",
                    to.name, thread + wait.distance, used, wait.moves ? "the value" : "the end",
                    from.name, thread, cycle, waits_long ? " and is not kept as long" : ""));
  }

  void Occupy(const Hop& hop, int64_t cycle, const Event& event) {
    const auto [at, added] = carried_.emplace(std::tuple(hop.tile, hop.offset, cycle), event);
    if (added || at->second == event || config_.shared_links) return;
    if (!reported_.emplace(at->second.unit, event.unit, hop.tile).second) return;
    Report(
        {at->second.unit, event.unit},
        fmt::format("in cycle {}, the values of {} of thread {} and of {} of thread {} leave tile "
                    "{} by the link to tile {}",
                    cycle, At(at->second.unit).name, at->second.thread, At(event.unit).name,
                    event.thread, hop.tile, hop.tile + hop.offset));
  }

  void Report(std::initializer_list<int> units, std::string sentence) {
    std::vector<std::string> names;
    for (const int unit : units) {
      for (std::string& name : NamesOf(graph_, At(unit))) names.push_back(std::move(name));
    }
    findings_->Add(Rule::kReplay, std::move(names), std::move(sentence));
  }

  const ComputationGraph& graph_;
  const Config& config_;
  const int64_t interval_;
  const Units& units_;
  const Array array_;
  Findings* findings_;
  std::map<std::pair<int64_t, int64_t>, Event> issued_;             // by tile and cycle
  std::map<std::tuple<int64_t, int64_t, int64_t>, Event> carried_;  // by tile, offset and cycle
  std::set<std::tuple<int, int, int64_t>> reported_;  // pairs of units, with the link's tile or -1
  std::set<size_t> late_;                             // waits
};

}  // namespace

void Replay(const ComputationGraph& graph, const Config& config, int64_t interval,
            const Units& units, Findings* findings) {
  ThreadReplay(graph, config, interval, units, findings).Run();
}

}  // namespace kiln::cgra::check
