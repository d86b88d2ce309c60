// Builds the pieces of a run with their dependencies, and orders them by list scheduling.

#include "kiln/targets/vta/compile/run_plan.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

namespace kiln::vta {
namespace {

constexpr double kCopiedBytes = 1000;  // estimated bytes copied per microsecond

// The pieces in the order of steps, with their dependencies.
class Unordered {
 public:
  Unordered(std::span<const FeatureMap> maps, const Config& config)
      : maps_(maps), config_(config) {}

  void AddStep(size_t number, const PlannedStep& step) {
    AddTransfers(number, step.transfers);
    if (step.host != nullptr) {
      std::set<size_t> after;
      for (const HostView& view : step.host->inputs) After(slots_, view.slot, &after);
      const size_t piece = Add(Piece::Kind::kOperator, number, 0, after, step.microseconds);
      for (const int slot : step.host->outputs) slots_[slot] = {piece};
      return;
    }
    std::set<size_t> after;
    for (const int map : step.reads) After(written_, map, &after);
    const size_t piece = Add(Piece::Kind::kLaunch, number, 0, after, step.microseconds);
    for (const int map : step.writes) Write(map, piece);
  }

  void AddTransfers(size_t number, std::span<const Transfer> transfers) {
    for (size_t t = 0; t < transfers.size(); ++t) {
      const Transfer& transfer = transfers[t];
      const auto bytes =
          static_cast<double>(maps_[static_cast<size_t>(transfer.map)].bytes(config_));
      const double microseconds = bytes / kCopiedBytes;
      std::set<size_t> after;
      if (transfer.to_map) {
        After(slots_, transfer.slot, &after);
        const size_t pack = Add(Piece::Kind::kPack, number, t, after, microseconds);
        Write(transfer.map, Add(Piece::Kind::kWrite, number, t, {pack}, microseconds));
      } else {
        After(written_, transfer.map, &after);
        const size_t read = Add(Piece::Kind::kRead, number, t, after, microseconds);
        slots_[transfer.slot] = {Add(Piece::Kind::kUnpack, number, t, {read}, microseconds)};
      }
    }
  }

  std::vector<Piece>& pieces() { return pieces_; }
  const std::vector<double>& microseconds() const { return microseconds_; }

 private:
  using Writers = std::map<int, std::vector<size_t>>;  // by slot or map: the pieces that write it

  static void After(const Writers& writers, int what, std::set<size_t>* after) {
    if (const auto at = writers.find(what); at != writers.end())
      after->insert(at->second.begin(), at->second.end());
  }

  // Records that a piece writes a map and the maps that contain it.
  void Write(int map, size_t piece) {
    for (std::optional<FeatureMap::Place> at = FeatureMap::Place{map, 0}; at.has_value();
         at = maps_[static_cast<size_t>(at->map)].inside) {
      written_[at->map].push_back(piece);
    }
  }

  size_t Add(Piece::Kind kind, size_t step, size_t transfer, const std::set<size_t>& after,
             double microseconds) {
    pieces_.push_back({kind, step, transfer, {after.begin(), after.end()}});
    microseconds_.push_back(microseconds);
    return pieces_.size() - 1;
  }

  const std::span<const FeatureMap> maps_;
  const Config& config_;
  std::vector<Piece> pieces_;
  std::vector<double> microseconds_;
  Writers slots_, written_;
};

std::vector<std::vector<size_t>> SuccessorsOf(const std::vector<Piece>& pieces) {
  std::vector<std::vector<size_t>> successors(pieces.size());
  for (size_t i = 0; i < pieces.size(); ++i) {
    for (const size_t before : pieces[i].after) successors[before].push_back(i);
  }
  return successors;
}

// Returns the pieces in the order of their starts, by list scheduling on one host and one device.
std::vector<size_t> OrderOf(const std::vector<Piece>& pieces,
                            const std::vector<double>& microseconds) {
  const size_t count = pieces.size();
  const std::vector<std::vector<size_t>> successors = SuccessorsOf(pieces);
  std::vector<double> to_come(count, 0), can_start(count, 0);
  for (size_t i = count; i-- > 0;) {
    for (const size_t next : successors[i]) to_come[i] = std::max(to_come[i], to_come[next]);
    to_come[i] += microseconds[i];
  }
  std::vector<size_t> waiting(count);
  std::set<size_t> ready;
  for (size_t i = 0; i < count; ++i) {
    waiting[i] = pieces[i].after.size();
    if (waiting[i] == 0) ready.insert(i);
  }
  double device_free = 0, host_free = 0;
  std::vector<size_t> order;
  while (!ready.empty()) {
    const auto start_of = [&](size_t i) {
      return std::max(can_start[i], pieces[i].on_device() ? device_free : host_free);
    };
    // Copies come first, because they are short and make work available to the host.
    const auto rank = [&](size_t i) {
      return std::tuple(start_of(i), pieces[i].kind == Piece::Kind::kLaunch, -to_come[i], i);
    };
    const size_t next = *std::min_element(ready.begin(), ready.end(),
                                          [&](size_t a, size_t b) { return rank(a) < rank(b); });
    const double end = start_of(next) + microseconds[next];
    (pieces[next].on_device() ? device_free : host_free) = end;
    ready.erase(next);
    order.push_back(next);
    for (const size_t after : successors[next]) {
      can_start[after] = std::max(can_start[after], end);
      if (--waiting[after] == 0) ready.insert(after);
    }
  }
  return order;
}

std::vector<Piece> InOrder(std::vector<Piece> pieces, const std::vector<size_t>& order) {
  std::vector<size_t> place(order.size());
  for (size_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  std::vector<Piece> ordered;
  for (const size_t from : order) {
    Piece piece = std::move(pieces[from]);
    for (size_t& before : piece.after) before = place[before];
    std::sort(piece.after.begin(), piece.after.end());
    ordered.push_back(std::move(piece));
  }
  return ordered;
}

// Returns for each piece the pieces that it waits for, directly or indirectly, including those that
// precede it in the device's order.
std::vector<std::vector<bool>> Ancestors(const std::vector<Piece>& pieces) {
  std::vector<std::vector<bool>> ancestors(pieces.size(), std::vector<bool>(pieces.size(), false));
  const auto inherit = [&](size_t to, size_t from) {
    for (size_t i = 0; i < from; ++i) ancestors[to][i] = ancestors[to][i] || ancestors[from][i];
    ancestors[to][from] = true;
  };
  size_t device = pieces.size();
  for (size_t i = 0; i < pieces.size(); ++i) {
    for (const size_t before : pieces[i].after) inherit(i, before);
    if (!pieces[i].on_device()) continue;
    if (device < pieces.size()) inherit(i, device);
    device = i;
  }
  return ancestors;
}

}  // namespace

bool RunPlan::overlaps() const {
  return std::any_of(beside.begin(), beside.end(),
                     [](const auto& pieces) { return !pieces.empty(); });
}

RunPlan PlanRun(std::span<const PlannedStep> steps, std::span<const Transfer> outputs,
                std::span<const FeatureMap> maps, const Config& config) {
  Unordered unordered(maps, config);
  for (size_t i = 0; i < steps.size(); ++i) unordered.AddStep(i, steps[i]);
  unordered.AddTransfers(steps.size(), outputs);
  RunPlan plan;
  plan.pieces = std::move(unordered.pieces());
  const bool host = std::any_of(steps.begin(), steps.end(),
                                [](const PlannedStep& s) { return s.host != nullptr; });
  // Without work of the host nothing can overlap, so the network's order is kept.
  if (host) {
    const std::vector<size_t> order = OrderOf(plan.pieces, unordered.microseconds());
    plan.pieces = InOrder(std::move(plan.pieces), order);
  }
  plan.beside.resize(plan.pieces.size());
  const std::vector<std::vector<bool>> ancestors = Ancestors(plan.pieces);
  for (size_t i = 0; i < plan.pieces.size(); ++i) {
    if (plan.pieces[i].on_device()) continue;
    for (size_t k = 0; k < plan.pieces.size(); ++k) {
      if (plan.pieces[k].on_device() && !ancestors[i][k] && !ancestors[k][i])
        plan.beside[i].push_back(k);
    }
  }
  return plan;
}

}  // namespace kiln::vta
