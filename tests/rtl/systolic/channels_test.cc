// Tests the units' channels to memory on their own, behind a memory that stalls: read and write
// channels, ports of block scales, program fetch, and the bus that all may share. Units issue
// requests at random, also outside the memory and for addresses that answer with an error, and are
// stopped in the middle of their work.
#include <algorithm>
#include <array>
#include <deque>
#include <optional>

#include "Vchannels_bench.h"
#include "Vprogram_fetch.h"
#include "Vprogram_fetch_4_gib.h"
#include "Vscale_ports.h"
#include "Vshared_bus.h"
#include "kiln/hardware/axi_port.h"
#include "rtl/testbench/kiln_axi_memory.h"
#include "tests/rtl/support.h"
#include "tests/rtl/systolic/command_port.h"

namespace kiln::rtl {
namespace {

using testbench::AxiMemory;
using testbench::AxiReadPort;
using testbench::AxiTiming;
using testbench::AxiWritePort;

// The machine's memory; the bus has more behind it, so that what gets past the guard is seen.
constexpr uint64_t kMemoryBytes = 1'000, kBusBytes = 2'048;
constexpr uint64_t kPoisonBegin = 960,
                   kPoisonEnd = 968;  // an error there, where the test wants one

AxiTiming TimingOf(uint64_t seed) {
  AxiTiming timing;
  timing.latency = 1 + seed % 7;
  timing.StallAll(seed % 3 == 0 ? 0 : 0.25 * static_cast<double>(seed % 3));
  return timing;
}

AxiMemory RandomMemory(const AxiTiming& timing, uint64_t seed) {
  AxiMemory memory(kBusBytes, timing);
  Random random(seed);
  for (uint8_t& byte : memory.bytes()) byte = static_cast<uint8_t>(random());
  return memory;
}

struct Request {
  uint64_t address = 0, bytes = 0;
  uint32_t tag = 0;
  std::vector<uint8_t> data;  // to write

  bool outside() const { return bytes > 0 && address + bytes > kMemoryBytes; }
  // Its beats of 8 bytes touch what answers with an error.
  bool poisoned() const {
    return bytes > 0 && address / 8 * 8 < kPoisonEnd &&
           kPoisonBegin < (address + bytes + 7) / 8 * 8;
  }
};

// What a unit may ask for.
struct Asks {
  uint64_t least = 0, most = 20;  // bytes
  uint64_t tags = 256;
  bool outside = true, poisoned = true;
};

Request RandomRequest(const Asks& asks, Random& random) {
  for (;;) {
    Request request;
    request.bytes = static_cast<uint64_t>(
        random.Between(static_cast<int64_t>(asks.least), static_cast<int64_t>(asks.most)));
    request.address = random.Below(32) == 0 ? (uint64_t{1} << 32) - 1 - random.Below(20)
                                            : random.Below(kMemoryBytes - 20);
    if (random.Below(16) == 0) request.address = kMemoryBytes - request.bytes + random.Below(3);
    request.tag = static_cast<uint32_t>(random.Below(asks.tags));
    request.data.resize(request.bytes);
    for (uint8_t& byte : request.data) byte = static_cast<uint8_t>(random());
    if ((request.outside() && !asks.outside) || (request.poisoned() && !asks.poisoned)) continue;
    return request;
  }
}

// A unit in front of a channel: asks, and knows what it must be told. Reading or writing, it asks
// for one thing after the other; one that lies outside the memory is taken and forgotten.
class Unit {
 public:
  Unit(const Asks& asks, uint64_t seed) : asks_(asks), random_(seed), stalls_(StallsOf(seed, 1)) {}

  // Begins a cycle. A unit in reset may show anything.
  void Drive(bool unit_reset) {
    const bool stall = stalls_.Next();
    if (unit_reset) {
      standing_.reset();
      offer_ = RandomRequest(asks_, random_);
      valid_ = random_.Below(2) == 0;
      return;
    }
    if (!standing_.has_value() && !stall) standing_ = RandomRequest(asks_, random_);
    valid_ = standing_.has_value();
    offer_ = valid_ ? *standing_ : RandomRequest(asks_, random_);
  }
  bool valid() const { return valid_; }
  const Request& offer() const { return offer_; }

  // The channel's `ready` in a cycle without reset. What was taken is expected.
  void Taken(bool ready) {
    if (!valid_ || !ready) return;
    if (!offer_.outside()) expected_.push_back(offer_);
    standing_.reset();
  }
  // What comes back next.
  bool Expects() const { return !expected_.empty(); }
  const Request& front() const { return expected_.front(); }
  void Done() {
    if (expected_.front().poisoned()) must_fault_ = true;
    expected_.pop_front();
    ++done_;
  }
  bool CouldFault() const {
    return must_fault_ || std::any_of(expected_.begin(), expected_.end(),
                                      [](const Request& r) { return r.poisoned(); });
  }
  bool MustFault() const { return must_fault_; }

  bool RangeFault(bool unit_reset) const { return valid_ && !unit_reset && offer_.outside(); }
  // Everything has come to its end in a reset.
  void Stopped() {
    if (CouldFault()) must_fault_ = true;
    expected_.clear();
  }
  void PortReset() { must_fault_ = false; }
  int done() const { return done_; }

 private:
  Asks asks_;
  Random random_;
  Stalls stalls_;
  std::optional<Request> standing_;
  Request offer_;
  bool valid_ = false, must_fault_ = false;
  std::deque<Request> expected_;
  int done_ = 0;
};

// Checks the word in front of a unit that reads; takes it with `ready`.
template <typename Data>
void CheckWord(Unit& unit, const AxiMemory& memory, bool valid, bool ready, uint32_t tag,
               const Data& data) {
  if (!valid) return;
  ASSERT_TRUE(unit.Expects()) << "a word that nobody asked for";
  const Request& request = unit.front();
  ASSERT_EQ(tag, request.tag);
  const std::vector<uint8_t> word = GetBytes(data, request.bytes);
  if (request.bytes > 0) {
    ASSERT_TRUE(std::equal(word.begin(), word.end(),
                           memory.bytes().begin() + static_cast<std::ptrdiff_t>(request.address)))
        << request.bytes << " bytes at " << request.address;
  }
  if (ready) unit.Done();
}

// Stops a machine now and then; it stays so until its ports are quiet and for some cycles more, in
// one of which the ports may be reset.
class Stops {
 public:
  explicit Stops(uint64_t seed) : random_(seed) {}
  // Begins a cycle.
  void Drive() {
    port_reset_ = false;
    if (!stopped_) {
      stopped_ = random_.Below(400) == 0;
      quiet_ = 0;
    }
  }
  bool stopped() const { return stopped_; }
  bool port_reset() const { return port_reset_; }
  // In a stop, with the ports' idle of the cycle before: may reset the ports, may end. True at the
  // end.
  bool Idle(bool idle) {
    if (!stopped_ || !idle) return false;
    ++quiet_;
    port_reset_ = quiet_ == 2 && random_.Below(2) == 0;
    if (quiet_ < 4) return false;
    stopped_ = false;
    ++stops_;
    return true;
  }
  int stops() const { return stops_; }

 private:
  Random random_;
  bool stopped_ = false, port_reset_ = false;
  int quiet_ = 0, stops_ = 0;
};

// ---- Channels.

// Both channels quiet and in reset, for a while.
void Reset(Simulation<Vchannels_bench>& bench) {
  bench->read_request_valid = bench->read_arready = bench->read_rvalid = 0;
  bench->write_request_valid = bench->write_awready = bench->write_wready = bench->write_bvalid = 0;
  bench->read_unit_reset = bench->read_port_reset = 1;
  bench->write_unit_reset = bench->write_port_reset = 1;
  for (int i = 0; i < 3; ++i) {
    bench.Settle();
    bench.Step();
  }
}

// The next cycle's stop or reset, and what the unit makes of it.
void Drive(bool idle, Stops& stops, Unit& unit) {
  if (stops.Idle(idle)) unit.Stopped();
  stops.Drive();
  if (stops.port_reset()) unit.PortReset();
  unit.Drive(stops.stopped());
}

TEST(Channels, Read) {
  for (uint64_t seed = 1; seed <= 6 && !HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    AxiMemory memory = RandomMemory(TimingOf(seed), seed);
    memory.Poison(kPoisonBegin, kPoisonEnd - kPoisonBegin);
    AxiReadPort bus(&memory, 8, seed);
    Simulation<Vchannels_bench> bench(seed);
    Unit unit({}, seed);
    Stops stops(seed + 1);
    Stalls words = StallsOf(seed, 2), turns = StallsOf(seed, 3);
    Reset(bench);
    bool idle = true;
    int faults = 0, ranges = 0;
    for (int i = 0; i < 15'000 && !HasFailure(); ++i) {
      Drive(idle, stops, unit);
      const Request& offer = unit.offer();
      bench->read_unit_reset = stops.stopped();
      bench->read_port_reset = stops.port_reset();
      bench->read_request_valid = unit.valid();
      bench->read_request_address = offer.address;
      bench->read_request_bytes = static_cast<uint8_t>(offer.bytes);
      bench->read_request_tag = static_cast<uint8_t>(offer.tag);
      bench->read_word_ready = !words.Next();
      bench->read_turn = !turns.Next();
      KILN_AXI_DRIVE_READ(*bench, read, bus);
      bench.Settle();
      ASSERT_EQ(bench->read_range_fault, unit.RangeFault(stops.stopped()));
      if (bench->read_arvalid) {
        ASSERT_LT(bench->read_araddr + 8u * bench->read_arlen, kMemoryBytes);
      }
      const bool asks = unit.valid() && !stops.stopped();
      ASSERT_EQ(bench->read_turn_request, asks && offer.bytes > 0 && bench->read_port_free);
      if (stops.stopped()) {
        ASSERT_FALSE(bench->read_word_valid);
      } else {
        // Without a turn nothing goes to the bus; what does not go there needs none.
        if (asks) {
          ASSERT_EQ(bench->read_request_ready,
                    bench->read_port_free && (bench->read_turn || offer.bytes == 0));
        }
        ASSERT_EQ(bench->read_idle, !unit.Expects()) << "cycle " << i;
        ASSERT_LE(bench->read_fault, unit.CouldFault());
        ASSERT_GE(bench->read_fault, unit.MustFault());
        faults += bench->read_fault;
        ranges += bench->read_range_fault;
        CheckWord(unit, memory, bench->read_word_valid, bench->read_word_ready,
                  bench->read_word_tag, bench->read_word_data);
        unit.Taken(bench->read_request_ready);
      }
      idle = bench->read_idle;
      KILN_AXI_SAMPLE_READ(*bench, read, bus);
      bench.Step();
    }
    EXPECT_GT(unit.done(), 300);
    EXPECT_GT(stops.stops(), 10);
    EXPECT_GT(faults, 10);
    EXPECT_GT(ranges, 10);
  }
}

TEST(Channels, Write) {
  for (uint64_t seed = 1; seed <= 6 && !HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    AxiMemory memory = RandomMemory(TimingOf(seed), seed);
    memory.Poison(kPoisonBegin, kPoisonEnd - kPoisonBegin);
    std::vector<uint8_t> model = memory.bytes();
    AxiWritePort bus(&memory, 8, seed);
    Simulation<Vchannels_bench> bench(seed);
    Unit unit({.least = 1, .tags = 2}, seed);
    Stops stops(seed + 1);
    Reset(bench);
    bool idle = true;
    int faults = 0, ranges = 0;
    for (int i = 0; i < 15'000 && !HasFailure(); ++i) {
      Drive(idle, stops, unit);
      const Request& offer = unit.offer();
      bench->write_unit_reset = stops.stopped();
      bench->write_port_reset = stops.port_reset();
      bench->write_request_valid = unit.valid();
      bench->write_request_address = offer.address;
      bench->write_request_bytes = static_cast<uint8_t>(offer.bytes);
      bench->write_request_tag = static_cast<uint8_t>(offer.tag);
      SetBytes(bench->write_request_data, offer.data);
      KILN_AXI_DRIVE_WRITE(*bench, write, bus);
      bench.Settle();
      ASSERT_EQ(bench->write_range_fault, unit.RangeFault(stops.stopped()));
      if (bench->write_awvalid) {
        ASSERT_LT(bench->write_awaddr + 8u * bench->write_awlen, kMemoryBytes);
      }
      if (bench->write_idle) {  // whatever was accepted is in memory, that before a stop, too
        ASSERT_EQ(memory.bytes(), model) << "cycle " << i;
      }
      if (stops.stopped()) {
        ASSERT_FALSE(bench->write_done_valid);
      } else {
        ASSERT_LE(bench->write_fault, unit.CouldFault());
        ASSERT_GE(bench->write_fault, unit.MustFault());
        faults += bench->write_fault;
        ranges += bench->write_range_fault;
        if (bench->write_done_valid) {
          ASSERT_TRUE(unit.Expects());
          ASSERT_EQ(bench->write_done_tag, unit.front().tag);
          unit.Done();
        } else {
          ASSERT_LE(bench->write_idle, !unit.Expects());
        }
        if (unit.valid() && bench->write_request_ready && !offer.outside()) {
          for (uint64_t b = 0; b < offer.bytes;
               ++b) {  // beats that answer with an error change nothing
            const uint64_t at = offer.address + b;
            if (at < kPoisonBegin || at >= kPoisonEnd) model[at] = offer.data[b];
          }
        }
        unit.Taken(bench->write_request_ready);
      }
      idle = bench->write_idle;
      KILN_AXI_SAMPLE_WRITE(*bench, write, bus);
      bench.Step();
    }
    EXPECT_GT(unit.done(), 300);
    EXPECT_GT(stops.stops(), 10);
    EXPECT_GT(faults, 10);
    EXPECT_GT(ranges, 10);
  }
}

// ---- Ports of block scales: scales of two bytes.

TEST(Channels, ScalePorts) {
  for (uint64_t seed = 1; seed <= 6 && !HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    AxiMemory memory = RandomMemory(TimingOf(seed), seed);
    memory.Poison(kPoisonBegin, kPoisonEnd - kPoisonBegin);
    // Written is a memory of its own, so that every word that is read has one value.
    AxiMemory written(kBusBytes, TimingOf(seed + 1));
    std::vector<uint8_t> model = written.bytes();
    AxiReadPort input_bus(&memory, 8, seed), weight_bus(&memory, 8, seed + 1),
        operand_bus(&memory, 8, seed + 2);
    AxiWritePort output_bus(&written, 8, seed);
    Simulation<Vscale_ports> ports(seed);
    const auto asks = [&](uint64_t least, uint64_t tags) {
      return Asks{.least = least,
                  .most = 2,
                  .tags = tags,
                  .outside = seed % 2 == 0,
                  .poisoned = seed % 3 == 0};
    };
    Unit input(asks(0, 256), seed), weight(asks(2, 256), seed + 1), operand(asks(2, 16), seed + 2);
    Asks writes = asks(2, 2);
    writes.poisoned = false;
    Unit output(writes, seed + 3);
    const std::array<Unit*, 4> units = {&input, &weight, &operand, &output};
    Stops stops(seed + 1);
    Stalls words = StallsOf(seed, 2);
    ports->unit_reset = ports->port_reset = 1;
    ports->input_scale_request_valid = ports->weight_scale_request_valid =
        ports->operand_scale_request_valid = ports->output_scale_request_valid = 0;
    ports->input_scale_arready = ports->weight_scale_arready = ports->operand_scale_arready = 0;
    ports->input_scale_rvalid = ports->weight_scale_rvalid = ports->operand_scale_rvalid = 0;
    ports->output_scale_awready = ports->output_scale_wready = ports->output_scale_bvalid = 0;
    for (int i = 0; i < 3; ++i) {
      ports.Settle();
      ports.Step();
    }
    bool idle = true;
    for (int i = 0; i < 12'000 && !HasFailure(); ++i) {
      const bool ends = stops.Idle(idle);
      for (Unit* unit : units) {
        if (ends) unit->Stopped();
      }
      stops.Drive();
      for (Unit* unit : units) {
        if (stops.port_reset()) unit->PortReset();
        unit->Drive(stops.stopped());
      }
      ports->unit_reset = stops.stopped();
      ports->port_reset = stops.port_reset();
      ports->input_scale_request_valid = input.valid();
      ports->input_scale_request_address = input.offer().address;
      ports->input_scale_request_bytes = static_cast<uint8_t>(input.offer().bytes);
      ports->input_scale_request_tag = static_cast<uint8_t>(input.offer().tag);
      ports->weight_scale_request_valid = weight.valid();
      ports->weight_scale_request_address = weight.offer().address;
      ports->weight_scale_request_tag = static_cast<uint8_t>(weight.offer().tag);
      ports->operand_scale_request_valid = operand.valid();
      ports->operand_scale_request_address = operand.offer().address;
      ports->operand_scale_request_tag = static_cast<uint8_t>(operand.offer().tag);
      ports->operand_scale_word_ready = !words.Next();
      ports->output_scale_request_valid = output.valid();
      ports->output_scale_request_address = output.offer().address;
      SetBytes(ports->output_scale_request_data, output.offer().data);
      ports->output_scale_request_tag = static_cast<uint8_t>(output.offer().tag);
      KILN_AXI_DRIVE_READ(*ports, input_scale, input_bus);
      KILN_AXI_DRIVE_READ(*ports, weight_scale, weight_bus);
      KILN_AXI_DRIVE_READ(*ports, operand_scale, operand_bus);
      KILN_AXI_DRIVE_WRITE(*ports, output_scale, output_bus);
      ports.Settle();
      bool range = false, could = false, must = false, expects = false;
      for (const Unit* unit : units) {
        range = range || unit->RangeFault(stops.stopped());
        could = could || unit->CouldFault();
        must = must || unit->MustFault();
        expects = expects || unit->Expects();
      }
      ASSERT_EQ(ports->range_fault, range);
      if (ports->idle) {
        ASSERT_EQ(written.bytes(), model);
      }
      if (stops.stopped()) {
        ASSERT_FALSE(ports->input_scale_word_valid || ports->weight_scale_word_valid ||
                     ports->operand_scale_word_valid || ports->output_scale_done);
      } else {
        ASSERT_LE(ports->fault, could);
        ASSERT_GE(ports->fault, must);
        CheckWord(input, memory, ports->input_scale_word_valid, true, ports->input_scale_word_tag,
                  ports->input_scale_word_data);
        CheckWord(weight, memory, ports->weight_scale_word_valid, true,
                  ports->weight_scale_word_tag, ports->weight_scale_word_data);
        CheckWord(operand, memory, ports->operand_scale_word_valid, ports->operand_scale_word_ready,
                  ports->operand_scale_word_tag, ports->operand_scale_word_data);
        if (ports->output_scale_done) {
          ASSERT_TRUE(output.Expects());
          ASSERT_EQ(ports->output_scale_done_tag, output.front().tag);
          output.Done();
        }
        ASSERT_LE(ports->idle, !expects) << "cycle " << i;
        if (output.valid() && ports->output_scale_request_ready && !output.offer().outside()) {
          std::copy(output.offer().data.begin(), output.offer().data.end(),
                    model.begin() + static_cast<std::ptrdiff_t>(output.offer().address));
        }
        input.Taken(ports->input_scale_request_ready);
        weight.Taken(ports->weight_scale_request_ready);
        operand.Taken(ports->operand_scale_request_ready);
        output.Taken(ports->output_scale_request_ready);
      }
      idle = ports->idle;
      KILN_AXI_SAMPLE_READ(*ports, input_scale, input_bus);
      KILN_AXI_SAMPLE_READ(*ports, weight_scale, weight_bus);
      KILN_AXI_SAMPLE_READ(*ports, operand_scale, operand_bus);
      KILN_AXI_SAMPLE_WRITE(*ports, output_scale, output_bus);
      ports.Step();
    }
    for (const Unit* unit : units) EXPECT_GT(unit->done(), 200);
    EXPECT_GT(stops.stops(), 10);
  }
}

// ---- Program fetch: a port of 16 bytes, five words ahead.

constexpr uint64_t kWordBytes = 16, kAhead = 5,
                   kProgramEnd = kMemoryBytes / kWordBytes * kWordBytes;

TEST(Channels, ProgramFetch) {
  for (uint64_t seed = 1; seed <= 6 && !HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    AxiMemory memory = RandomMemory(TimingOf(seed), seed);
    AxiReadPort bus(&memory, 16, seed);
    Simulation<Vprogram_fetch> fetch(seed);
    Random random(seed);
    Stalls words = StallsOf(seed, 1), turns = StallsOf(seed, 2);
    fetch->port_reset = fetch->start = fetch->stop = fetch->word_ready = 0;
    fetch->axi_arready = fetch->axi_rvalid = 0;
    fetch.Reset();
    bool running = false, faulted = false;
    uint64_t next = 0, asked = 0;  // addresses: of the next word, behind the last one asked for
    int ran_out = 0, taken = 0, runs = 0, faults = 0;
    for (int i = 0; i < 20'000 && !HasFailure(); ++i) {
      // Software, which starts and stops; some programs lie where the memory answers with an error.
      fetch->start = fetch->stop = fetch->port_reset = 0;
      if (running) {
        fetch->stop = random.Below(120) == 0;
      } else if (fetch->idle && random.Below(3) == 0) {
        if (random.Below(2) == 0) {
          fetch->port_reset = 1;
        } else {
          fetch->start = 1;
        }
      }
      const uint64_t start = kWordBytes * random.Below(kProgramEnd / kWordBytes + 1);
      fetch->start_address = start;
      if (fetch->start) {
        memory.Heal();
        if (random.Below(4) == 0) memory.Poison(start + 40, 1);
      }
      fetch->word_ready = !words.Next();
      fetch->turn = !turns.Next();
      KILN_AXI_DRIVE_READ(*fetch, axi, bus);
      fetch.Settle();
      if (fetch->axi_arvalid) {
        ASSERT_LT(fetch->axi_araddr, kProgramEnd);
      }
      ASSERT_EQ(fetch->exhausted, running && next == kProgramEnd);
      ASSERT_EQ(fetch->turn_request, running && asked != kProgramEnd &&
                                         asked - next != kAhead * kWordBytes && fetch->port_free);
      if (running) {
        ASSERT_FALSE(fetch->idle);
      } else {
        ASSERT_FALSE(fetch->word_valid);
      }
      if (fetch->fault && !faulted) ++faults;
      ASSERT_GE(fetch->fault, faulted) << "sticky";
      faulted = fetch->fault && !fetch->port_reset;
      if (fetch->word_valid) {
        ASSERT_LT(next, asked) << "a word that was not asked for";
        const std::vector<uint8_t> word = GetBytes(fetch->word, kWordBytes);
        ASSERT_TRUE(std::equal(word.begin(), word.end(),
                               memory.bytes().begin() + static_cast<std::ptrdiff_t>(next)));
        ASSERT_GE(fetch->fault, memory.Response(next, kWordBytes) != 0);
        if (fetch->word_ready) {
          next += kWordBytes;
          ++taken;
        }
      }
      ran_out += fetch->exhausted;
      if (fetch->turn_request && fetch->turn) asked += kWordBytes;
      if (fetch->start) {
        running = true;
        next = asked = start;
        ++runs;
      }
      if (fetch->stop) running = false;
      KILN_AXI_SAMPLE_READ(*fetch, axi, bus);
      fetch.Step();
    }
    EXPECT_GT(taken, 500);
    EXPECT_GT(runs, 20);
    EXPECT_GT(ran_out, 20);
    EXPECT_GT(faults, 3);
  }
}

// The first word of a start in cycle t is there in t + 1 + L, and then one each cycle.
TEST(Channels, ProgramFetchInItsCycles) {
  for (const uint64_t latency : {1, 2}) {  // not more than is asked for ahead
    AxiTiming timing;
    timing.latency = latency;
    AxiMemory memory = RandomMemory(timing, 1);
    AxiReadPort bus(&memory, 16);
    Simulation<Vprogram_fetch> fetch;
    fetch->port_reset = fetch->start = fetch->stop = 0;
    fetch->axi_arready = fetch->axi_rvalid = 0;
    fetch->word_ready = fetch->turn = 1;
    fetch.Reset();
    std::vector<uint64_t> cycles, expected;
    for (uint64_t cycle = 0; cycle < 20; ++cycle) {
      fetch->start = cycle == 3;
      fetch->start_address = 32;
      KILN_AXI_DRIVE_READ(*fetch, axi, bus);
      fetch.Settle();
      if (fetch->word_valid) cycles.push_back(cycle);
      if (cycle >= 3 + 1 + latency + kAxiPortLatency) expected.push_back(cycle);
      KILN_AXI_SAMPLE_READ(*fetch, axi, bus);
      fetch.Step();
    }
    EXPECT_EQ(cycles, expected) << "latency " << latency;
  }
}

// A program may lie at the very end of 4 GiB, where the next address would be 2^32.
TEST(Channels, ProgramFetchStopsAtTheEndOfAllAddresses) {
  Simulation<Vprogram_fetch_4_gib> fetch;
  fetch->port_reset = fetch->start = fetch->stop = 0;
  fetch->axi_rvalid = fetch->axi_rresp = 0;
  fetch->axi_rlast = fetch->axi_arready = 1;
  fetch->word_ready = fetch->turn = 1;
  fetch.Reset();
  std::vector<uint32_t> addresses;
  int pending = 0, words = 0;
  for (int cycle = 0; cycle < 60; ++cycle) {
    fetch->start = cycle == 3;
    fetch->start_address = 0xffff'ffd0;
    fetch->axi_rvalid = pending > 0;
    fetch.Settle();
    const bool answered = fetch->axi_rvalid && fetch->axi_rready;
    if (fetch->axi_arvalid) addresses.push_back(fetch->axi_araddr);
    words += fetch->word_valid;
    pending += (fetch->axi_arvalid ? 1 : 0) - (answered ? 1 : 0);
    fetch.Step();
  }
  EXPECT_EQ(addresses, (std::vector<uint32_t>{0xffff'ffd0, 0xffff'ffe0, 0xffff'fff0}));
  EXPECT_EQ(words, 3);
  EXPECT_TRUE(fetch->exhausted);
  EXPECT_FALSE(fetch->turn_request);
}

// ---- The shared bus: masters that speak AXI themselves.

constexpr uint64_t kReadBytes = 1 << 13, kWriteBytes = 1 << 13;

struct Burst {
  uint64_t address = 0, beats = 1;
};

// A burst of up to 16 beats of 8 bytes in [begin, begin + size) that crosses no 4 KiB.
Burst RandomBurst(Random& random, uint64_t begin, uint64_t size) {
  Burst burst;
  burst.address = begin + 8 * random.Below(size / 8);
  const uint64_t most = std::min<uint64_t>(16, (4096 - burst.address % 4096) / 8);
  burst.beats = 1 + random.Below(most);
  return burst;
}

class ReadMaster {
 public:
  explicit ReadMaster(uint64_t seed)
      : random_(seed), asks_(StallsOf(seed, 1)), takes_(StallsOf(seed, 2)) {}
  void Drive() {
    const bool stall = asks_.Next();
    if (!offers_ && !stall && under_way_.size() < 4) {
      burst_ = RandomBurst(random_, 0, kReadBytes);
      offers_ = true;
    }
    ready_ = !takes_.Next();
  }
  bool offers() const { return offers_; }
  const Burst& burst() const { return burst_; }
  bool ready() const { return ready_; }
  void Sample(const AxiMemory& memory, bool arready, bool rvalid, uint64_t rdata, unsigned rresp,
              bool rlast) {
    if (rvalid) {
      ASSERT_FALSE(under_way_.empty()) << "data of somebody else";
      Burst& front = under_way_.front();
      uint64_t beat = 0;
      std::memcpy(&beat, memory.bytes().data() + front.address, sizeof beat);
      ASSERT_EQ(rdata, beat);
      ASSERT_EQ(rresp, 0u);
      ASSERT_EQ(rlast, front.beats == 1);
      if (ready_) {
        front.address += 8;
        if (--front.beats == 0) {
          under_way_.pop_front();
          ++done_;
        }
      }
    }
    if (offers_ && arready) {
      under_way_.push_back(burst_);
      offers_ = false;
    }
  }
  int done() const { return done_; }

 private:
  Random random_;
  Stalls asks_, takes_;
  bool offers_ = false, ready_ = false;
  Burst burst_;
  std::deque<Burst> under_way_;
  int done_ = 0;
};

// Addresses and data drift apart.
class WriteMaster {
 public:
  explicit WriteMaster(uint64_t seed)
      : random_(seed),
        addresses_(StallsOf(seed, 1)),
        data_(StallsOf(seed, 2)),
        answers_(StallsOf(seed, 3)) {}
  void Drive() {
    const bool stall_address = addresses_.Next(), stall_data = data_.Next();
    pauses_ = pauses_ ? !quiet() : random_.Below(100) == 0;  // until all is answered
    if (!pauses_ && to_address_.empty() && to_write_.empty() && unanswered_ < 6) {
      const Burst burst = RandomBurst(random_, kReadBytes, kWriteBytes);
      to_address_.push_back(burst);
      to_write_.push_back(burst);
    }
    if (!address_offered_) address_offered_ = !to_address_.empty() && !stall_address;
    if (!data_offered_ && !to_write_.empty() && !stall_data) {
      data_offered_ = true;
      beat_ = random_();
      strobes_ = static_cast<uint8_t>(random_());
    }
    ready_ = !answers_.Next();
  }
  bool address_offered() const { return address_offered_; }
  const Burst& address() const { return to_address_.front(); }
  bool data_offered() const { return data_offered_; }
  uint64_t beat() const { return beat_; }
  uint8_t strobes() const { return strobes_; }
  bool last() const { return !to_write_.empty() && to_write_.front().beats == 1; }
  bool ready() const { return ready_; }
  void Sample(std::vector<uint8_t>& model, bool awready, bool wready, bool bvalid, unsigned bresp) {
    if (bvalid) {
      ASSERT_EQ(bresp, 0u);
      ASSERT_GT(unanswered_, 0);
      if (ready_) {
        --unanswered_;
        ++done_;
      }
    }
    if (data_offered_ && wready) {
      Burst& burst = to_write_.front();
      for (uint64_t b = 0; b < 8; ++b) {
        if ((strobes_ >> b & 1) != 0)
          model[burst.address + b] = static_cast<uint8_t>(beat_ >> (8 * b));
      }
      burst.address += 8;
      data_offered_ = false;
      if (--burst.beats == 0) {
        to_write_.pop_front();
        if (to_address_.empty()) ++unanswered_;
      }
    }
    if (address_offered_ && awready) {
      to_address_.pop_front();
      address_offered_ = false;
      if (to_write_.empty()) ++unanswered_;
    }
  }
  bool quiet() const { return to_address_.empty() && to_write_.empty() && unanswered_ == 0; }
  int done() const { return done_; }

 private:
  Random random_;
  Stalls addresses_, data_, answers_;
  std::deque<Burst> to_address_, to_write_;
  bool address_offered_ = false, data_offered_ = false, ready_ = false, pauses_ = false;
  uint64_t beat_ = 0;
  uint8_t strobes_ = 0;
  int unanswered_ = 0, done_ = 0;
};

TEST(Channels, SharedBus) {
  for (uint64_t seed = 1; seed <= 6 && !HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    AxiMemory memory(kReadBytes + kWriteBytes, TimingOf(seed));
    Random random(seed);
    for (uint8_t& byte : memory.bytes()) byte = static_cast<uint8_t>(random());
    std::vector<uint8_t> model = memory.bytes();
    AxiReadPort reads(&memory, 8, seed);
    AxiWritePort writes(&memory, 8, seed);
    Simulation<Vshared_bus> bus(seed);
    std::array<ReadMaster, 4> masters = {ReadMaster(seed), ReadMaster(seed + 1),
                                         ReadMaster(seed + 2), ReadMaster(seed + 3)};
    WriteMaster writer(seed);
    bus->program_arvalid = bus->input_arvalid = bus->weight_arvalid = bus->operand_arvalid = 0;
    bus->output_awvalid = bus->output_wvalid = 0;
    bus->memory_arready = bus->memory_rvalid = 0;
    bus->memory_awready = bus->memory_wready = bus->memory_bvalid = 0;
    bus.Reset();
    int compared = 0;
    for (int i = 0; i < 10'000 && !HasFailure(); ++i) {
      for (ReadMaster& master : masters) master.Drive();
      writer.Drive();
#define KILN_DRIVE_MASTER(name, master)                                   \
  do {                                                                    \
    bus->name##_arvalid = (master).offers();                              \
    bus->name##_araddr = (master).burst().address;                        \
    bus->name##_arlen = static_cast<uint8_t>((master).burst().beats - 1); \
    bus->name##_arsize = 3;                                               \
    bus->name##_arburst = 1;                                              \
    bus->name##_rready = (master).ready();                                \
  } while (false)
      KILN_DRIVE_MASTER(program, masters[0]);
      KILN_DRIVE_MASTER(input, masters[1]);
      KILN_DRIVE_MASTER(weight, masters[2]);
      KILN_DRIVE_MASTER(operand, masters[3]);
#undef KILN_DRIVE_MASTER
      bus->output_awvalid = writer.address_offered();
      if (writer.address_offered()) {
        bus->output_awaddr = writer.address().address;
        bus->output_awlen = static_cast<uint8_t>(writer.address().beats - 1);
      }
      bus->output_awsize = 3;
      bus->output_awburst = 1;
      bus->output_wvalid = writer.data_offered();
      bus->output_wdata = writer.beat();
      bus->output_wstrb = writer.strobes();
      bus->output_wlast = writer.last();
      bus->output_bready = writer.ready();
      KILN_AXI_DRIVE_READ_ID(*bus, memory, reads);
      KILN_AXI_DRIVE_WRITE_ID(*bus, memory, writes);
      bus.Settle();
      if (bus->memory_awvalid) {
        ASSERT_EQ(bus->memory_awid, 4);
      }
#define KILN_SAMPLE_MASTER(name, master)                                              \
  (master).Sample(memory, bus->name##_arready, bus->name##_rvalid, bus->name##_rdata, \
                  bus->name##_rresp, bus->name##_rlast)
      KILN_SAMPLE_MASTER(program, masters[0]);
      KILN_SAMPLE_MASTER(input, masters[1]);
      KILN_SAMPLE_MASTER(weight, masters[2]);
      KILN_SAMPLE_MASTER(operand, masters[3]);
#undef KILN_SAMPLE_MASTER
      writer.Sample(model, bus->output_awready, bus->output_wready, bus->output_bvalid,
                    bus->output_bresp);
      KILN_AXI_SAMPLE_READ_ID(*bus, memory, reads);
      KILN_AXI_SAMPLE_WRITE_ID(*bus, memory, writes);
      bus.Step();
      if (writer.quiet()) {
        ASSERT_EQ(memory.bytes(), model);
        ++compared;
      }
    }
    for (const ReadMaster& master : masters) EXPECT_GT(master.done(), 20);
    EXPECT_GT(writer.done(), 50);
    EXPECT_GT(compared, 10);
  }
}

}  // namespace
}  // namespace kiln::rtl
