// Runs kiln_stream_memory as software does, with two streams in and two out, of beats of different
// widths: the beats of runs at any address, with stalls on every channel and stream and behind a
// DRAM, against a byte array; the counters against the handshakes; errors of the bus; the rate; and
// the cycles of everything that it offers against its model in C++. Also tests kiln_stream_split.
#include <algorithm>
#include <array>
#include <memory>

#include "Vstream_memory.h"
#include "Vstream_split.h"
#include "kiln/hardware/stream_memory_model.h"
#include "rtl/testbench/kiln_axi_lite.h"
#include "rtl/testbench/kiln_axi_memory.h"
#include "tests/rtl/support.h"

namespace kiln::rtl {
namespace {

using testbench::AxiMemory;
using testbench::AxiReadPort;
using testbench::AxiTiming;
using testbench::AxiWritePort;

constexpr uint32_t kControl = 0x008, kStatus = 0x00c, kError = 0x010, kErrorStream = 0x014,
                   kCycles = 0x018;
constexpr size_t kIn = 2, kStreams = 4;
constexpr std::array<size_t, kStreams> kBeatBytes = {8, 3, 24, 5};  // as in CMakeLists.txt
constexpr std::array<size_t, kStreams> kFirstByte = {0, 8, 0, 24};  // in to_tdata and from_tdata
constexpr size_t kFromBytes = 29, kDataBytes = 16;
constexpr uint64_t kRegion = 1 << 14;  // bytes of the memory for each stream

struct Place {
  uint64_t address = 0;
  uint32_t beats = 0;
};
using Places = std::array<Place, kStreams>;

// A machine that takes and offers the beats of a run, behind the module under test and its memory.
class Machine {
 public:
  Machine(const AxiTiming& timing, double stall, uint64_t seed)
      : Machine(std::make_shared<AxiMemory>(kRegion * kStreams, timing), stall, seed) {}
  // In front of a memory that it may share with other machines.
  Machine(std::shared_ptr<AxiMemory> memory, double stall, uint64_t seed)
      : memory_(std::move(memory)),
        reads_(memory_.get(), kDataBytes, seed),
        writes_(memory_.get(), kDataBytes, seed + 1),
        random_(seed),
        model_(seed) {
    for (uint8_t& byte : memory_->bytes()) byte = static_cast<uint8_t>(random_());
    for (uint64_t s = 0; s < kStreams; ++s) stalls_.emplace_back(seed + 2 + s, stall);
    testbench::AxiLiteIdle(*model_);
    model_->memory_arready = model_->memory_awready = model_->memory_wready = 0;
    model_->memory_rvalid = model_->memory_bvalid = 0;
    model_->to_tready = model_->from_tvalid = 0;
    model_.Reset();
    model_.Step();
  }

  AxiMemory& memory() { return *memory_; }
  uint32_t Read(uint32_t address) {
    bool error = false;
    const uint32_t value =
        testbench::AxiLiteRead(*model_, address, [&] { Settle(); }, [&] { Edge(); }, &error);
    EXPECT_FALSE(error) << address;
    return value;
  }
  void Write(uint32_t address, uint32_t data) {
    EXPECT_TRUE(testbench::AxiLiteWrite(
        *model_, address, data, [&] { Settle(); }, [&] { Edge(); }))
        << address;
  }

  // Performs a run and compares what the streams and the memory got. Returns the cycles of the run.
  uint64_t Run(const Places& places) {
    Start(places);
    for (uint64_t cycle = 0; !Ended(); ++cycle) {
      if (cycle == 200'000) {
        ADD_FAILURE() << "the run does not end";
        return 0;
      }
      Step();
    }
    return Finish();
  }
  // The parts of Run, for machines that run at the same time: all of them are stepped in turn.
  void Start(const Places& places) {
    places_ = places;
    moved_ = stalled_ = {};
    expected_ = memory_->bytes();
    for (uint32_t s = 0; s < kStreams; ++s) {
      Write(0x100 + 16 * s, static_cast<uint32_t>(places[s].address));
      Write(0x104 + 16 * s, static_cast<uint32_t>(places[s].address >> 32));
      Write(0x108 + 16 * s, places[s].beats);
    }
    signals_.clear();
    Write(kControl, 1);
    offers_ = true;  // only now, since the counters hold what happens within the run
  }
  bool Ended() const { return !offers_; }
  void Step() {
    Settle();
    Edge();
    if (!offers_ || !model_->irq) return;
    offers_ = false;
    signals_of_run_ = signals_;
  }
  uint64_t Finish() {
    for (size_t s = 0; s < kStreams; ++s) EXPECT_EQ(moved_[s], places_[s].beats) << "stream " << s;
    return Read(kCycles);
  }
  // Compares the only run of this machine, which took `cycles` cycles, with its model: what is
  // offered and taken on the machine's side in every cycle, and its end.
  void ExpectModel(uint64_t cycles) {
    hardware::StreamMemoryModel model(memory_->timing(), places(), kIn, kDataBytes);
    for (uint64_t cycle = 0; cycle < cycles; ++cycle) {
      ExpectCycle(cycle, cycles, &model);
      if (testing::Test::HasFatalFailure()) return;
    }
    EXPECT_FALSE(model.busy());
    EXPECT_EQ(model.cycles(), static_cast<int64_t>(cycles));
  }
  // Compares cycle `cycle` of the only run of this machine with its model, and steps the model.
  void ExpectCycle(uint64_t cycle, uint64_t cycles, hardware::StreamMemoryModel* model) {
    // The interrupt rises two cycles after the last cycle of the run.
    ASSERT_GE(signals_of_run_.size(), cycles + 1);
    const Signals& is = signals_of_run_[signals_of_run_.size() - cycles - 1 + cycle];
    ASSERT_TRUE(model->busy()) << "cycle " << cycle << " of " << cycles;
    for (size_t s = 0; s < kIn; ++s)
      ASSERT_EQ(model->offers(s), (is.to_valid >> s & 1) != 0) << s << ", cycle " << cycle;
    for (size_t s = 0; s < kStreams - kIn; ++s)
      ASSERT_EQ(model->takes(s), (is.from_ready >> s & 1) != 0) << s << ", cycle " << cycle;
    model->Clock(is.to_ready, is.from_valid);
  }
  std::vector<hardware::StreamPlace> places() const {
    std::vector<hardware::StreamPlace> places;
    for (size_t s = 0; s < kStreams; ++s)
      places.push_back({places_[s].beats, static_cast<int>(kBeatBytes[s]), places_[s].address});
    return places;
  }
  void ExpectMemory() { EXPECT_TRUE(memory_->bytes() == expected_); }
  // Compares the counters of the last run with its handshakes.
  void ExpectCounters() {
    for (uint32_t s = 0; s < kStreams; ++s) {
      EXPECT_EQ(Read(0x400 + 8 * s), moved_[s]) << "beats of stream " << s;
      EXPECT_EQ(Read(0x404 + 8 * s), stalled_[s]) << "stalls of stream " << s;
    }
  }

 private:
  void Settle() {
    uint32_t ready = 0, valid = 0;
    for (size_t s = 0; s < kIn; ++s) ready |= uint32_t{chosen_[s]} << s;
    std::vector<uint8_t> from(kFromBytes);
    for (size_t s = kIn; s < kStreams; ++s) {
      if (!chosen_[s]) continue;
      valid |= uint32_t{1} << (s - kIn);
      std::ranges::copy(beats_[s], from.begin() + static_cast<ptrdiff_t>(kFirstByte[s]));
    }
    model_->to_tready = static_cast<uint8_t>(ready);
    model_->from_tvalid = static_cast<uint8_t>(valid);
    SetBytes(model_->from_tdata, from);
    KILN_AXI_DRIVE_READ_ID(*model_, memory, reads_);
    KILN_AXI_DRIVE_WRITE_ID(*model_, memory, writes_);
    model_.Settle();
  }

  // Ends the cycle, and decides what the machine takes and offers in the next one.
  void Edge() {
    const std::vector<uint8_t> to = GetBytes(model_->to_tdata, kFirstByte[kIn - 1] + 3);
    signals_.push_back(
        {model_->to_tvalid, model_->to_tready, model_->from_tvalid, model_->from_tready});
    for (size_t s = 0; s < kStreams; ++s) {
      const bool in = s < kIn;
      const size_t bit = in ? s : s - kIn;
      const bool valid = (in ? model_->to_tvalid : model_->from_tvalid) >> bit & 1;
      const bool ready = (in ? model_->to_tready : model_->from_tready) >> bit & 1;
      if (valid && !ready) ++stalled_[s];
      if (valid && ready) Move(s, to);
      if (in) {
        chosen_[s] = !stalls_[s].Next();
      } else if (offers_ && !chosen_[s] && moved_[s] < places_[s].beats && !stalls_[s].Next()) {
        chosen_[s] = true;  // and stays on offer until it is taken
        beats_[s].resize(kBeatBytes[s]);
        for (uint8_t& byte : beats_[s]) byte = static_cast<uint8_t>(random_());
      }
    }
    KILN_AXI_SAMPLE_READ_ID(*model_, memory, reads_);
    KILN_AXI_SAMPLE_WRITE_ID(*model_, memory, writes_);
    model_.Step();
  }

  void Move(size_t s, const std::vector<uint8_t>& to) {
    const auto place =
        expected_.begin() + static_cast<ptrdiff_t>(places_[s].address + moved_[s] * kBeatBytes[s]);
    ++moved_[s];
    if (s < kIn) {
      const auto beat = to.begin() + static_cast<ptrdiff_t>(kFirstByte[s]);
      EXPECT_TRUE(std::equal(place, place + static_cast<ptrdiff_t>(kBeatBytes[s]), beat))
          << "beat " << moved_[s] - 1 << " of stream " << s;
    } else {
      std::ranges::copy(beats_[s], place);
      chosen_[s] = false;
    }
  }

  // The handshakes of a cycle, a bit for each stream.
  struct Signals {
    uint64_t to_valid, to_ready, from_valid, from_ready;
  };

  const std::shared_ptr<AxiMemory> memory_;
  AxiReadPort reads_;
  AxiWritePort writes_;
  Random random_;
  std::vector<Stalls> stalls_;
  Simulation<Vstream_memory> model_;
  Places places_{};
  bool offers_ = false;
  std::vector<uint8_t> expected_;                       // of the memory after the run
  std::array<bool, kStreams> chosen_{};                 // ready, or with a beat on offer
  std::array<std::vector<uint8_t>, kStreams> beats_{};  // on offer
  std::array<uint64_t, kStreams> moved_{}, stalled_{};
  std::vector<Signals> signals_, signals_of_run_;  // since its start was written
};

// Places of a run at any address of each stream's region, of no beats or many. The regions begin at
// address `base`.
Places RandomPlaces(Random& random, uint64_t base = 0) {
  Places places;
  for (size_t s = 0; s < kStreams; ++s) {
    const uint64_t beats = random.Below(4) == 0 ? random.Below(3) : random.Below(300);
    places[s].beats = static_cast<uint32_t>(beats);
    places[s].address = base + s * kRegion + random.Below(kRegion - beats * kBeatBytes[s]);
  }
  return places;
}

void Exercise(const AxiTiming& timing, double stall, uint64_t seed) {
  Machine machine(timing, stall, seed);
  Random random(seed);
  for (int run = 0; run < 8; ++run) {
    machine.Run(RandomPlaces(random));
    machine.ExpectMemory();
    machine.ExpectCounters();
    EXPECT_EQ(machine.Read(kStatus), 2);
    EXPECT_EQ(machine.Read(kError), 0);
  }
}

TEST(StreamMemory, RunsAtAnyAddress) {
  for (const double stall : {0.0, 0.3, 0.8}) {
    AxiTiming timing;
    timing.latency = 9;
    timing.stall_ar = timing.stall_r = timing.stall_aw = timing.stall_w = timing.stall_b = stall;
    for (uint64_t seed = 1; seed <= 3; ++seed) Exercise(timing, stall, seed);
  }
}

TEST(StreamMemory, RunsBehindADram) {
  AxiTiming timing;
  timing.latency = 60;
  timing.bytes_per_cycle = 8;
  timing.row_miss = 30;
  Exercise(timing, 0.2, 4);
}

// Behind ideal memories and DRAMs of any speed, in front of machines that stall or do not.
TEST(StreamMemory, HasTheCyclesOfItsModel) {
  Random random(7);
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    AxiTiming timing;
    timing.latency = 1 + random.Below(seed % 5 == 0 ? 400 : 40);
    if (seed % 3 != 0) {
      timing.bytes_per_cycle = (0.2 + random.Uniform()) * (seed % 2 == 0 ? 20 : 2);
      timing.row_miss = random.Below(60);
    }
    Machine machine(timing, seed % 4 == 0 ? 0 : random.Uniform() * 0.9, seed);
    const Places places = RandomPlaces(random);
    machine.ExpectModel(machine.Run(places));
    if (testing::Test::HasFatalFailure()) FAIL() << "seed " << seed;
  }
}

// Two machines whose runs start in the same cycle, behind one memory.
TEST(StreamMemory, SharesTheMemoryAsItsModelDoes) {
  constexpr size_t kMachines = 2;
  constexpr uint64_t kBytes = kRegion * kStreams;  // of memory for each machine
  Random random(11);
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    AxiTiming timing;
    timing.latency = 1 + random.Below(60);
    timing.bytes_per_cycle = (0.2 + random.Uniform()) * (seed % 2 == 0 ? 30 : 4);
    timing.row_miss = random.Below(60);
    const auto memory = std::make_shared<AxiMemory>(kBytes * kMachines, timing);
    const auto bus = std::make_shared<testbench::MemoryBus>(timing);
    std::array<std::unique_ptr<Machine>, kMachines> machines;
    for (size_t m = 0; m < kMachines; ++m) {
      machines[m] = std::make_unique<Machine>(memory, seed % 4 == 0 ? 0 : random.Uniform() * 0.5,
                                              2 * seed + m);
    }
    // Software takes the same cycles for the registers of either machine.
    for (size_t m = 0; m < kMachines; ++m) machines[m]->Start(RandomPlaces(random, m * kBytes));
    const auto ended = [](const auto& machine) { return machine->Ended(); };
    for (int cycle = 0; !std::ranges::all_of(machines, ended); ++cycle) {
      ASSERT_LT(cycle, 200'000);
      for (const auto& machine : machines) machine->Step();
    }
    std::array<uint64_t, kMachines> cycles{};
    std::vector<hardware::StreamMemoryModel> models;
    models.reserve(kMachines);
    for (size_t m = 0; m < kMachines; ++m) {
      cycles[m] = machines[m]->Finish();
      models.emplace_back(bus, 0, machines[m]->places(), kIn, static_cast<int>(kDataBytes));
    }
    for (uint64_t cycle = 0; cycle < *std::ranges::max_element(cycles); ++cycle) {
      for (size_t m = 0; m < kMachines; ++m) {
        if (cycle >= cycles[m]) continue;
        machines[m]->ExpectCycle(cycle, cycles[m], &models[m]);
        if (testing::Test::HasFatalFailure()) FAIL() << "seed " << seed << ", machine " << m;
      }
    }
    for (size_t m = 0; m < kMachines; ++m)
      EXPECT_EQ(models[m].cycles(), static_cast<int64_t>(cycles[m])) << "seed " << seed;
  }
}

// A beat of 8 bytes per cycle goes in, as 64 bytes take at most five beats of the bus. Parts of 48
// bytes go out: three beats of the bus, or four at an odd address, and the cycle in which the
// arbiter has granted a burst and has none of its data.
TEST(StreamMemory, RateOfTheBus) {
  for (const uint64_t offset : {0u, 1u, 33u, 63u}) {
    AxiTiming timing;
    timing.latency = 20;
    Machine machine(timing, 0, 1);
    const uint64_t in = machine.Run({{{offset, 1000}, {kRegion, 0}, {2 * kRegion, 0}, {0, 0}}});
    EXPECT_GE(in, 1000);
    EXPECT_LE(in, 1000 + 40);
    const uint64_t out =
        machine.Run({{{0, 0}, {0, 0}, {2 * kRegion + offset, 600}, {3 * kRegion, 0}}});
    const uint64_t part = offset % kDataBytes == 0 ? 4 : 5;
    EXPECT_GE(out, 300 * part);
    EXPECT_LE(out, 300 * part + 40);
  }
}

// An error response ends the run with an error that names the stream, and is kept until the reset.
TEST(StreamMemory, ErrorsOfTheBusNameTheirStream) {
  for (const uint32_t stream : {0u, 1u, 2u, 3u}) {
    AxiTiming timing;
    timing.latency = 9;
    Machine machine(timing, 0.3, stream + 1);
    Places places;
    for (size_t s = 0; s < kStreams; ++s) places[s] = {s * kRegion + 64, 40};
    machine.Run(places);
    EXPECT_EQ(machine.Read(kError), 0);
    machine.memory().Poison(stream * kRegion + 128, 1);
    machine.Run(places);
    EXPECT_EQ(machine.Read(kStatus), 2);
    EXPECT_EQ(machine.Read(kError), 1);
    EXPECT_EQ(machine.Read(kErrorStream), stream);
  }
}

// Beats of three streams in random order; the last byte of a beat is its stream. A stream that
// stalls stalls the beats behind it, so that the order of all beats stays.
TEST(StreamSplit, GivesEachBeatToItsStream) {
  constexpr uint64_t kOut = 3, kBytes = 4;
  for (const double stall : {0.0, 0.5}) {
    Simulation<Vstream_split> split(1);
    Random random(2);
    Stalls offers(3, stall);
    std::vector<Stalls> stalls;
    for (uint64_t s = 0; s < kOut; ++s) stalls.emplace_back(4 + s, stall);
    split->in_tvalid = split->out_tready = 0;
    split.Reset();
    std::vector<uint8_t> beat;
    int taken = 0;
    for (int cycle = 0; taken < 1000 && cycle < 100'000; ++cycle) {
      if (beat.empty() && !offers.Next()) {
        for (uint64_t i = 0; i + 1 < kBytes; ++i) beat.push_back(static_cast<uint8_t>(random()));
        beat.push_back(static_cast<uint8_t>(random.Below(kOut)));
      }
      uint32_t ready = 0;
      for (uint32_t s = 0; s < kOut; ++s) ready |= uint32_t{!stalls[s].Next()} << s;
      split->in_tvalid = !beat.empty();
      if (!beat.empty()) SetBytes(split->in_tdata, beat);
      split->out_tready = static_cast<uint8_t>(ready);
      split.Settle();
      const uint32_t stream = beat.empty() ? 0 : beat.back();
      EXPECT_EQ(split->out_tvalid, beat.empty() ? 0 : 1 << stream);
      if (!beat.empty()) {
        EXPECT_EQ(split->in_tready, ready >> stream & 1);
        const std::vector<uint8_t> out = GetBytes(split->out_tdata, kOut * kBytes);
        EXPECT_TRUE(std::equal(beat.begin(), beat.end(),
                               out.begin() + static_cast<ptrdiff_t>(stream * kBytes)));
        if (split->in_tready) {
          beat.clear();
          ++taken;
        }
      }
      split.Step();
    }
    EXPECT_EQ(taken, 1000);
  }
}

}  // namespace
}  // namespace kiln::rtl
