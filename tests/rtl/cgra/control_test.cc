// Compares dispatch, sequencer and outputs with models of what they must do in which cycle, with
// random stalls on both sides.
#include <array>
#include <optional>

#include "Vcgra_control.h"
#include "tests/rtl/support.h"

namespace kiln::rtl {
namespace {

void Quiet(Simulation<Vcgra_control>& sim) {
  sim->in_tvalid = 0;
  sim->idle = 1;
  sim->dispatch_finished = 0;
  sim->start = sim->outputs_start = 0;
  sim->result_valid = 0;
  sim->out_tready = 0;
  sim->outputs = 1;
  sim->outputs_threads = 0;
}

// A message of the asynchronous fabric.
struct Message {
  int target = 0, tile = 0, address = 0;
  uint64_t data = 0, low = 0;
  bool last = false;  // of a thread
};

constexpr uint64_t kRing = 4;

// The commands of a random stream, and the messages that they cause.
class CommandStream {
 public:
  explicit CommandStream(uint64_t seed) : random_(seed) {
    for (int i = 0; i < 60; ++i) {
      if (random_.Below(3) == 0) {
        AddRun();
      } else {
        AddWrite();
      }
    }
    beats.push_back(7);  // no command
  }

  std::deque<uint64_t> beats;
  std::deque<Message> messages;
  std::deque<std::array<uint64_t, 2>> runs;  // header and parameters

 private:
  void AddWrite() {
    const uint64_t target = random_.Below(5), tile = random_.Below(200);
    uint64_t address = random_.Below(8);
    const uint64_t entries = target == 4 ? 8 - address : random_.Below(5);
    const uint64_t count = target == 3 ? 2 * entries : entries;
    beats.push_back(1 | target << 4 | tile << 8 | address << 16 | count << 32);
    for (uint64_t i = 0; i < entries; ++i, ++address) {
      const uint64_t low = random_();
      beats.push_back(low);
      if (target == 4) table_[address] = static_cast<uint32_t>(low);
      if (target == 4) continue;
      Message message{.target = static_cast<int>(target),
                      .tile = static_cast<int>(tile),
                      .address = static_cast<int>(address),
                      .data = low,
                      .low = low};
      if (target == 3) beats.push_back(message.data = random_());
      messages.push_back(message);
    }
  }
  void AddRun() {
    // The whole table first, so that all of it is known.
    beats.push_back(1 | 4 << 4 | uint64_t{8} << 32);
    for (uint32_t& entry : table_) {
      entry = static_cast<uint32_t>(random_());
      beats.push_back(entry);
    }
    const uint64_t deliveries = random_.Below(7), threads = random_.Below(12);
    const uint64_t header = 2 | (1 + random_.Below(64)) << 16 | random_.Below(65536) << 32 |
                            deliveries << 48 | random_.Below(9) << 56;
    const uint64_t parameters = threads | random_.Below(100) << 32;
    beats.push_back(header);
    beats.push_back(parameters);
    runs.push_back({header, parameters});
    uint64_t beat = parameters;
    for (uint64_t thread = 0; thread < threads; ++thread) {
      for (uint64_t i = 0; i < deliveries; ++i) {
        const uint32_t entry = table_[i];
        if ((entry >> 21 & 1) == 0) beats.push_back(beat = random_());
        messages.push_back(
            {.target = static_cast<int>(entry >> 20 & 1),
             .tile = static_cast<int>(entry & 255),
             .address = static_cast<int>(((entry >> 8 & 0xfff) + thread % kRing) & 0xfff),
             .data = beat,
             .last = i + 1 == deliveries});
      }
    }
  }

  Random random_;
  std::array<uint32_t, 8> table_{};
};

void DispatchesStream(uint64_t seed, double stall) {
  Simulation<Vcgra_control> sim(seed);
  Quiet(sim);
  sim.Reset();
  Random random(seed);
  CommandStream commands(seed);
  Source<uint64_t> source(Stalls(seed, stall));
  for (const uint64_t beat : commands.beats) source.Push(beat);
  uint64_t finished = 0, threads = 0, written = 0;
  bool started = false;
  std::array<uint64_t, 2> run{};
  int quiet = 0;
  for (int cycle = 0; quiet < 10; ++cycle) {
    ASSERT_LT(cycle, 100000);
    source.Drive();
    sim->in_tvalid = source.Valid();
    if (source.Valid()) sim->in_tdata = source.Item();
    sim->dispatch_finished = static_cast<uint32_t>(finished);
    sim->idle = finished == threads && random.Below(3) == 0;
    sim.Settle();
    if (started) {
      ASSERT_EQ(sim->dispatch_threads, run[1] & 0xffffffff);
      ASSERT_EQ(sim->dispatch_first_sent, run[1] >> 32);
      ASSERT_EQ(sim->dispatch_interval, run[0] >> 16 & 127);
      ASSERT_EQ(sim->dispatch_latency, run[0] >> 32 & 0xffff);
      ASSERT_EQ(sim->dispatch_outputs, run[0] >> 56 & 15);
      ASSERT_EQ(sim->dispatch_has_inputs, (run[0] >> 48 & 255) != 0);
      ASSERT_EQ(sim->dispatch_ready, written);
      started = sim->in_tready == 0 || !source.Valid() || source.Item() % 16 != 2;
    }
    // The counts of this cycle are those of messages before it.
    if (sim->write_valid) {
      ASSERT_FALSE(commands.messages.empty());
      const Message expected = commands.messages.front();
      commands.messages.pop_front();
      ASSERT_EQ(sim->write_target, expected.target);
      ASSERT_EQ(sim->write_tile, expected.tile);
      ASSERT_EQ(sim->write_address, expected.address);
      ASSERT_EQ(sim->write_data, expected.data);
      if (expected.target == 3) {
        ASSERT_EQ(sim->write_low, expected.low);
      }
      if (expected.last) ++written;
      ASSERT_LE(written, finished + kRing);
    }
    const bool start = sim->dispatch_start != 0;
    const bool taken = source.Taken(sim->in_tready != 0);
    sim.Step();
    if (start && taken) {
      ASSERT_FALSE(commands.runs.empty());
      run = commands.runs.front();
      commands.runs.pop_front();
      started = true;
      finished = written = 0;
      threads = run[1] & 0xffffffff;
    } else if (finished < threads && random.Below(3) == 0 &&
               (written > finished || (run[0] >> 48 & 255) == 0)) {
      ++finished;
    }
    if (source.Empty() && commands.messages.empty()) ++quiet;
  }
  EXPECT_TRUE(commands.runs.empty());
}

TEST(CgraDispatch, ExecutesCommands) {
  for (uint64_t seed = 1; seed <= 20; ++seed) DispatchesStream(seed, seed % 2 == 0 ? 0.4 : 0);
}

TEST(CgraSequencer, StopsOnlyAtTheBeginOfPeriods) {
  Simulation<Vcgra_control> sim(3);
  Quiet(sim);
  sim.Reset();
  Random random(3);
  for (int run = 0; run < 200; ++run) {
    const auto threads = static_cast<uint32_t>(random.Below(8)),
               interval = static_cast<uint32_t>(1 + random.Below(run % 10 == 0 ? 64 : 5));
    const auto latency = static_cast<uint32_t>(1 + random.Below(20));
    const bool has_inputs = random.Below(3) != 0;
    sim->latency = static_cast<uint16_t>(latency);
    sim->start = 1;
    sim.Settle();
    sim.Step();
    sim->start = 0;
    sim->run_threads = threads;
    sim->interval = static_cast<uint8_t>(interval);
    sim->has_inputs = has_inputs;
    uint32_t ready = 0, fabric = 0;
    const uint32_t cycles = threads == 0 ? 0 : (threads - 1) * interval + latency;
    bool waited = false;
    for (int cycle = 1; cycle < 5 || fabric < cycles; ++cycle) {
      ASSERT_LT(cycle, 20000);
      sim->ready = ready;
      sim->space = random.Below(4) != 0;
      sim.Settle();
      const uint32_t period = fabric / interval;
      const bool waits = fabric % interval == 0 &&
                         (!sim->space || (has_inputs && period < threads && ready <= period));
      const bool advance = cycle >= 3 && fabric < cycles && !waits;
      waited = waited || (waits && cycle >= 3);
      ASSERT_EQ(sim->advance, advance) << run << " " << cycle;
      if (threads > 0) {
        ASSERT_EQ(sim->fetch, cycle < 3 || advance);
      }
      ASSERT_EQ(sim->last_slot, interval - 1);
      ASSERT_EQ(sim->base_valid, period < threads);
      ASSERT_EQ(sim->base_thread, period % 4);
      const uint32_t done = fabric < latency ? 0 : (fabric - latency) / interval + 1;
      ASSERT_EQ(sim->finished, done);
      sim.Step();
      fabric += advance ? 1 : 0;
      if (ready < threads && random.Below(4) == 0) ++ready;
    }
    sim.Settle();
    ASSERT_EQ(sim->advance, 0);
    ASSERT_EQ(sim->finished, threads);
    sim.Step();
    sim.Settle();
    ASSERT_EQ(sim->running, 0);
  }
}

void CollectsResults(uint64_t seed, double stall) {
  Simulation<Vcgra_control> sim(seed);
  Quiet(sim);
  sim.Reset();
  Random random(seed);
  Stalls stalls(seed, stall, Stalls::Kind::kBursts);
  for (int run = 0; run < 20; ++run) {
    const auto outputs = static_cast<uint32_t>(1 + random.Below(2)),
               threads = static_cast<uint32_t>(random.Below(60)),
               first = static_cast<uint32_t>(random.Below(3) == 0 ? random.Below(threads + 1) : 0);
    sim->outputs_start = 1;
    sim.Settle();
    sim.Step();
    sim->outputs_start = 0;
    sim->outputs = static_cast<uint8_t>(outputs);
    sim->outputs_threads = threads;
    sim->first_sent = first;
    std::array<std::vector<uint64_t>, 2> results;
    for (uint32_t o = 0; o < outputs; ++o) {
      for (uint32_t t = 0; t < threads; ++t) results[o].push_back(random());
    }
    std::array<uint32_t, 2> pushed{};
    std::array<std::deque<int>, 2> on_the_way;  // cycles in which they enter their queue
    std::array<int, 2> stored{};
    uint32_t received = first * outputs, left = 0;  // results
    size_t in_register = 0;
    int quiet = 0;
    for (int cycle = 0; quiet < 6; ++cycle) {
      ASSERT_LT(cycle, 5000);
      for (uint32_t o = 0; o < 2; ++o) {
        while (!on_the_way[o].empty() && on_the_way[o].front() <= cycle) {
          on_the_way[o].pop_front();
          ++stored[o];
        }
      }
      const bool space = stored[0] <= 4 && stored[1] <= 4;
      sim->result_valid = 0;
      sim->result_output = 0;
      for (uint32_t o = 0; o < outputs; ++o) {
        // As many as are left in the queue after all on their way.
        const bool fits = stored[o] + std::ssize(on_the_way[o]) < 8;
        if (pushed[o] == threads || !fits || random.Below(2) == 0) continue;
        const auto tile = static_cast<uint32_t>(random.Below(3));
        if ((sim->result_valid >> tile & 1) != 0) continue;
        sim->result_valid |= static_cast<uint8_t>(1U << tile);
        sim->result_output |= static_cast<uint16_t>(o << (3 * tile));
        std::memcpy(reinterpret_cast<char*>(&sim->result_data) + 8 * tile, &results[o][pushed[o]],
                    8);
        ++pushed[o];
        on_the_way[o].push_back(cycle + 2);
      }
      sim->out_tready = !stalls.Next();
      sim.Settle();
      ASSERT_EQ(sim->queues_space, space) << run << " " << cycle;
      ASSERT_EQ(sim->collected, left == threads * outputs);
      ASSERT_EQ(sim->out_tvalid, in_register > 0);
      const bool leaves = left < threads * outputs && stored[left % outputs] > 0 && in_register < 2;
      if (sim->out_tvalid && sim->out_tready) {
        ASSERT_EQ(sim->out_tdata, results[received % outputs][received / outputs]);
        ++received;
        --in_register;
      }
      if (leaves) {
        --stored[left % outputs];
        if (left / outputs >= first) ++in_register;
        ++left;
      }
      if (received == threads * outputs && left == threads * outputs) ++quiet;
      sim.Step();
    }
  }
}

TEST(CgraOutputs, SendsResultsInOrder) { CollectsResults(1, 0); }
TEST(CgraOutputs, SendsResultsBehindStalls) {
  CollectsResults(2, 0.5);
  CollectsResults(3, 0.8);
}

}  // namespace
}  // namespace kiln::rtl
