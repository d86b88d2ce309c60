// Compares the small modules of a tile with models that keep whole histories.
#include <array>
#include <map>

#include "Vcgra_units.h"
#include "tests/rtl/support.h"

namespace kiln::rtl {
namespace {

template <typename Port>
uint64_t Word(const Port& port, size_t index) {
  uint64_t word = 0;
  std::memcpy(&word, reinterpret_cast<const char*>(&port) + 8 * index, 8);
  return word;
}

struct Arrival {
  bool valid = false;
  uint8_t thread = 0;
  uint64_t data = 0;
};

// A message of every fabric cycle; those of negative cycles are not valid.
class History {
 public:
  void Set(int cycle, const Arrival& message) { messages_[cycle] = message; }
  Arrival Get(int cycle) const {
    const auto at = messages_.find(cycle);
    return at == messages_.end() ? Arrival{} : at->second;
  }
  void Clear() { messages_.clear(); }

 private:
  std::map<int, Arrival> messages_;
};

// Keeps the tile memory idle: its addresses are checked in every cycle with a read or a write.
void KeepMemoryIdle(Simulation<Vcgra_units>& sim) { sim->write_enable = sim->read_enable = 0; }

TEST(CgraDelayLine, KeepsTheLastMessages) {
  Simulation<Vcgra_units> sim(5);
  KeepMemoryIdle(sim);
  Random random(5);
  Stalls stalls(6, 0.3);
  History history;
  std::array<Arrival, 3> read;
  std::array<bool, 3> has_read{};
  Arrival next{true, 1, random()};
  int cycle = 0;
  for (int step = 0; step < 4000; ++step) {
    const bool clear = step < 2 || random.Below(200) == 0;
    const bool advance = !clear && !stalls.Next();
    sim->clear = clear;
    sim->advance = advance;
    // The message of this cycle has the data that were offered in the cycle before it.
    const Arrival now = history.Get(cycle);
    sim->line_valid = now.valid;
    sim->line_thread = now.thread;
    sim->line_next = next.data;
    uint32_t delays = 0;
    std::array<int, 3> delay;
    sim->line_read_enable = static_cast<uint8_t>(random.Below(8));
    for (size_t i = 0; i < 3; ++i) {
      delay[i] = static_cast<int>(random.Below(6));
      delays |= static_cast<uint32_t>(delay[i]) << (7 * i);
    }
    sim->line_read_delay = delays;
    sim.Settle();
    for (int d = 0; d <= 5 && step > 2; ++d) {
      const Arrival past = history.Get(cycle - d);
      ASSERT_EQ(sim->line_valids >> d & 1, past.valid) << step << " " << d;
      if (past.valid) {
        ASSERT_EQ(sim->line_threads >> (3 * d) & 7, past.thread);
      }
    }
    ASSERT_EQ(sim->short_valids, now.valid);
    for (size_t i = 0; i < 3; ++i) {
      if (has_read[i] && read[i].valid) {
        ASSERT_EQ(Word(sim->line_read_data, i), read[i].data) << step;
      }
    }
    sim.Step();
    if (clear) {
      history.Clear();
      cycle = 0;
      next = {false, 0, random()};
    } else if (advance) {
      for (size_t i = 0; i < 3; ++i) {
        if ((sim->line_read_enable >> i & 1) == 0) continue;
        has_read[i] = true;
        read[i] = history.Get(cycle - delay[i]);
      }
      ++cycle;
      history.Set(cycle, next);
      next = {random.Below(3) != 0, static_cast<uint8_t>(random.Below(8)), random()};
    }
  }
}

TEST(CgraDelayLine, WithoutWaitingKeepsTheNextMessage) {
  Simulation<Vcgra_units> sim(8);
  KeepMemoryIdle(sim);
  Random random(8);
  Stalls stalls(8, 0.3);
  uint64_t stored = 0, shown = 0;
  bool has_stored = false, has_shown = false;
  sim->clear = 1;
  sim.Settle();
  sim.Step();
  sim->clear = 0;
  for (int step = 0; step < 500; ++step) {
    sim->advance = !stalls.Next();
    sim->line_next = random();
    sim->line_read_enable = static_cast<uint8_t>(random.Below(2));
    sim->line_read_delay = 0;
    sim.Settle();
    if (has_shown) {
      ASSERT_EQ(Word(sim->short_read_data, 0), shown);
    }
    sim.Step();
    if (!sim->advance) continue;
    if (sim->line_read_enable != 0 && has_stored) {
      shown = stored;
      has_shown = true;
    }
    if (sim->line_read_enable != 0 && !has_stored) has_shown = false;
    stored = sim->line_next;
    has_stored = true;
  }
}

TEST(CgraLink, DelaysByItsDistance) {
  Simulation<Vcgra_units> sim(9);
  KeepMemoryIdle(sim);
  Random random(9);
  Stalls stalls(9, 0.3);
  sim->line_read_enable = 0;
  struct Result {
    uint8_t valid = 0, thread = 0;
    uint64_t data = 0;
  };
  std::deque<Result> results;  // the newest first, of this fabric cycle and the ones before
  sim->clear = 1;
  sim->advance = 0;
  sim.Settle();
  sim.Step();
  for (int step = 0; step < 3000; ++step) {
    const bool clear = random.Below(300) == 0;
    const bool advance = !clear && !stalls.Next();
    if (results.empty() || step == 0) results.assign(5, {});
    sim->clear = clear;
    sim->advance = advance;
    sim->link_valid = results[0].valid;
    sim->link_thread = results[0].thread;
    sim->link_data = results[0].data;
    sim.Settle();
    for (int link = 0; link < 6; ++link) {
      const int h = link < 3 ? 3 - link : link - 2;
      const Result& arrives = results[static_cast<size_t>(h)];
      ASSERT_EQ(sim->link_out_valid >> link & 1, arrives.valid >> link & 1) << step << " " << link;
      if ((arrives.valid >> link & 1) != 0) {
        ASSERT_EQ(sim->link_out_thread >> (3 * (h - 1)) & 7, arrives.thread);
      }
      const Result& next = results[static_cast<size_t>(h - 1)];
      if ((next.valid >> link & 1) != 0) {
        ASSERT_EQ(Word(sim->link_out_next, static_cast<size_t>(h - 1)), next.data);
      }
    }
    sim.Step();
    if (clear) results.assign(5, {});
    if (advance) {
      results.push_front({static_cast<uint8_t>(random.Below(64)),
                          static_cast<uint8_t>(random.Below(8)), random()});
      results.pop_back();
    }
  }
}

TEST(CgraTileMemory, AddsTheThreadToTheBase) {
  Simulation<Vcgra_units> sim(10);
  Random random(10);
  std::map<int, uint64_t> stored;
  bool known = false;
  uint64_t shown = 0;
  for (int step = 0; step < 3000; ++step) {
    sim->clear = 1;
    sim->write_enable = random.Below(2) != 0;
    sim->write_address = static_cast<uint16_t>(random.Below(16));
    sim->write_data = random();
    sim->read_enable = random.Below(2) != 0;
    sim->base = static_cast<uint16_t>(random.Below(9));
    sim->ring = random.Below(2) != 0;
    sim->thread = static_cast<uint8_t>(random.Below(8));
    sim.Settle();
    if (known) {
      ASSERT_EQ(sim->read_data, shown);
    }
    sim.Step();
    if (sim->read_enable) {
      const auto at = stored.find(sim->base + (sim->ring ? sim->thread : 0));
      known = at != stored.end();
      if (known) shown = at->second;
    }
    if (sim->write_enable) stored[sim->write_address] = sim->write_data;
  }
}

TEST(CgraOperand, SelectsItsSource) {
  Simulation<Vcgra_units> sim(11);
  KeepMemoryIdle(sim);
  Random random(11);
  Stalls stalls(11, 0.3);
  int kind_now = 0, line_now = 0;  // of the instruction that is one fabric cycle further
  bool valid_now = false;
  bool started = false;
  for (int step = 0; step < 5000; ++step) {
    const auto kind = static_cast<int>(random.Below(5)), line = static_cast<int>(random.Below(3)),
               delay = static_cast<int>(random.Below(4));
    const bool advance = !stalls.Next();
    sim->clear = 1;
    sim->advance = advance;
    sim->operand = static_cast<uint16_t>(kind | line << 3 | delay << 7);
    sim->valids = static_cast<uint16_t>(random.Below(4096));
    sim->literal_now = static_cast<uint32_t>(random());
    std::array<uint64_t, 5> sources;  // lines, memories
    for (size_t i = 0; i < 5; ++i) {
      sources[i] = random();
      char* const port = i < 3 ? reinterpret_cast<char*>(&sim->line_data) + 8 * i
                               : reinterpret_cast<char*>(&sim->memory_data) + 8 * (i - 3);
      std::memcpy(port, &sources[i], 8);
    }
    sim.Settle();
    const bool valid = (sim->valids >> (4 * line + delay) & 1) != 0;
    ASSERT_EQ(sim->read_line, kind == 1 && valid ? 1 << line : 0);
    ASSERT_EQ(sim->read_memory, kind == 2 ? 1 : kind == 3 ? 2 : 0);
    const uint64_t literal = sim->literal_now | uint64_t{sim->literal_now} << 32;
    if (started) {
      uint64_t expected = 0;
      if (kind_now == 1) expected = valid_now ? sources[static_cast<size_t>(line_now)] : literal;
      if (kind_now == 2 || kind_now == 3) expected = sources[static_cast<size_t>(kind_now) + 1];
      if (kind_now == 4) expected = literal;
      ASSERT_EQ(sim->value, expected) << kind_now << " " << valid_now;
    }
    sim.Step();
    if (!advance) continue;
    started = true;
    kind_now = kind;
    line_now = line;
    valid_now = valid;
  }
}

}  // namespace
}  // namespace kiln::rtl
