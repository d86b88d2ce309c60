// Compares kiln_bus_turns with its counterpart for event-driven models (hardware/bus_turns.h): the
// grant of every cycle.
#include "kiln/hardware/bus_turns.h"

#include <algorithm>
#include <vector>

#include "Vbus_turns.h"
#include "tests/rtl/support.h"

namespace kiln::rtl {
namespace {

constexpr size_t kMasters = 4;

// Asks `idle` cycles after the request before has had its beats.
struct Request {
  int64_t idle, beats;
};
using Requests = std::vector<Request>;

std::vector<Requests> RandomRequests(uint64_t seed) {
  Random random(seed);
  std::vector<Requests> masters(kMasters);
  for (Requests& requests : masters) {
    const int64_t most_idle = random.Between(0, 12), most_beats = random.Between(1, 6);
    for (int64_t n = random.Between(0, 200); n > 0; --n) {
      requests.push_back({random.Between(0, most_idle), random.Between(1, most_beats)});
    }
  }
  return masters;
}

hardware::Process Master(hardware::Simulator& simulator, hardware::BusTurns& turns, int master,
                         const Requests& requests, std::vector<int64_t>& taken) {
  for (const Request& request : requests) {
    co_await simulator.Delay(request.idle);
    taken.push_back(co_await turns.Turn(master, request.beats));
    co_await simulator.Delay(request.beats - 1);
  }
}

std::vector<std::vector<int64_t>> TurnsOfModel(const std::vector<Requests>& masters) {
  hardware::Simulator simulator;
  hardware::BusTurns turns(simulator, kMasters);
  std::vector<std::vector<int64_t>> taken(kMasters);
  // In another order than theirs: what runs first in a cycle must not matter.
  for (size_t m : {2, 0, 3, 1}) {
    simulator.Spawn("master", Master(simulator, turns, static_cast<int>(m), masters[m], taken[m]));
  }
  EXPECT_TRUE(simulator.Run(1'000'000));
  EXPECT_TRUE(simulator.unfinished().empty());
  return taken;
}

// A port as the module sees it.
struct Port {
  size_t next = 0;
  int64_t idle = 0, busy = 0;  // cycles to come
};

std::vector<std::vector<int64_t>> TurnsOfRtl(const std::vector<Requests>& masters, uint64_t seed) {
  Simulation<Vbus_turns> turns(seed);
  turns->request = 0;
  turns->port_free = 15;
  turns.Reset();
  std::vector<Port> ports(kMasters);
  for (size_t m = 0; m < kMasters; ++m) ports[m].idle = masters[m].empty() ? 0 : masters[m][0].idle;
  std::vector<std::vector<int64_t>> taken(kMasters);
  for (int64_t cycle = 0; cycle < 100'000; ++cycle) {
    unsigned request = 0, port_free = 0;
    bool done = true;
    for (size_t m = 0; m < kMasters; ++m) {
      Port& port = ports[m];
      done = done && port.next == masters[m].size() && port.busy == 0;
      if (port.busy > 0) continue;
      port_free |= 1u << m;
      if (port.next < masters[m].size() && port.idle == 0) request |= 1u << m;
    }
    if (done) return taken;
    turns->request = static_cast<uint8_t>(request);
    turns->port_free = static_cast<uint8_t>(port_free);
    turns.Settle();
    const unsigned turn = turns->turn;
    EXPECT_EQ(turn & ~request, 0u);
    EXPECT_EQ(turn & (turn - 1), 0u) << "two at once";
    for (size_t m = 0; m < kMasters; ++m) {
      Port& port = ports[m];
      if (port.busy > 0) {
        --port.busy;
        continue;
      }
      if ((turn >> m & 1) != 0) {
        taken[m].push_back(cycle);
        port.busy = masters[m][port.next].beats - 1;
        if (++port.next < masters[m].size()) port.idle = masters[m][port.next].idle;
      } else if (port.idle > 0) {
        --port.idle;
      }
    }
    turns.Step();
  }
  ADD_FAILURE() << "does not end";
  return taken;
}

TEST(BusTurns, AreThoseOfTheModel) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    const std::vector<Requests> masters = RandomRequests(seed);
    EXPECT_EQ(TurnsOfRtl(masters, seed), TurnsOfModel(masters)) << "seed " << seed;
  }
}

// Who always asks holds up nobody for more than a request of every other.
TEST(BusTurns, NobodyStarves) {
  std::vector<Requests> masters(kMasters, Requests(100, Request{0, 5}));
  masters[2] = Requests(100, Request{7, 1});
  const auto taken = TurnsOfRtl(masters, 1);
  for (size_t i = 1; i < taken[2].size(); ++i) EXPECT_LE(taken[2][i] - taken[2][i - 1], 8 + 5 + 15);
}

}  // namespace
}  // namespace kiln::rtl
