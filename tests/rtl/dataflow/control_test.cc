// Tests the registers of kiln_dataflow_control against a model of docs/dataflow-machine.md,
// "Registers": images and cycles are counted from random beats.
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "Vdataflow_control.h"
#include "Vdataflow_control_runs.h"
#include "kiln/hardware/register_map.h"
#include "kiln/support/file.h"
#include "kiln/targets/dataflow/isa/registers.h"
#include "tests/rtl/support.h"

namespace kiln::rtl {
namespace {

constexpr uint32_t kInBeats = 5, kOutBeats = 3;

enum Register : uint32_t {
  kIdentity = 0x000,
  kVersion = 0x004,
  kControl = 0x008,
  kStatus = 0x00c,
  kImagesIn = 0x010,
  kImagesOut = 0x014,
  kCycles = 0x018,
  kLatency = 0x020,
  kInterval = 0x028,
  kChannelCount = 0x030,
  kStreamCount = 0x034,
  kBaseAddresses = 0x100,
  kHighest = 0x400,
};

// Counts beats, images and cycles as the document says.
class Counters {
 public:
  // What happens in a cycle. `clear`: the counters are cleared at its end.
  void Cycle(bool in_beat, bool out_beat, bool clear) {
    if (in_beat && in_beats_ % kInBeats == 0) {
      if (!first_) first_ = cycle_;
      begins_.push_back(cycle_);
      if (!measured_) measured_ = begins_.size() - 1;
    }
    images_in += in_beat && in_beats_ % kInBeats == kInBeats - 1;
    in_beats_ += in_beat;
    if (out_beat) {
      if (first_) cycles = cycle_ - *first_ + 1;
      if (++out_beats_ % kOutBeats == 0) {
        ++images_out;
        const uint64_t image = out_beats_ / kOutBeats - 1;
        if (last_end_) interval = cycle_ - *last_end_;
        last_end_ = cycle_;
        if (measured_ == image) {
          latency = cycle_ - begins_[image] + 1;
          measured_.reset();
        }
      }
    }
    if (clear) {
      images_in = images_out = cycles = latency = interval = 0;
      first_.reset();
      last_end_.reset();
      measured_.reset();
    }
    ++cycle_;
  }
  uint64_t InFlight() const { return begins_.size() - out_beats_ / kOutBeats; }
  // Whether an out beat keeps the order: an image ends after its first beat has come.
  bool MayLeave() const { return out_beats_ < kOutBeats * begins_.size(); }

  uint64_t images_in = 0, images_out = 0, cycles = 0, latency = 0, interval = 0;

 private:
  uint64_t cycle_ = 0, in_beats_ = 0, out_beats_ = 0;
  std::optional<uint64_t> first_, last_end_, measured_;
  std::vector<uint64_t> begins_;
};

template <typename Model>
class Bench {
 public:
  explicit Bench(uint64_t seed) : control_(seed), random_(seed) {
    control_->axi_awvalid = control_->axi_wvalid = control_->axi_arvalid = 0;
    control_->axi_bready = control_->axi_rready = 0;
    control_->in_beat = control_->out_beat = control_->fault = 0;
    for (uint32_t i = 0; i < 4; ++i) control_->highest[i] = 100 + i;
    control_.Reset();
    control_.Step();
  }

  // One cycle in which the machine's beats come at random.
  void Step() {
    control_.Settle();
    const bool in = beats && control_->run && random_.Below(3) == 0;
    const bool out = beats && counters.MayLeave() && random_.Below(4) == 0;
    control_->in_beat = in;
    control_->out_beat = out;
    control_.Settle();
    counters.Cycle(in, out, control_->clear != 0);
    control_.Step();
  }

  // Returns the response code.
  uint32_t Write(uint32_t address, uint32_t data, uint32_t strobe = 15) {
    control_->axi_awvalid = control_->axi_wvalid = 1;
    control_->axi_awaddr = static_cast<uint16_t>(address);
    control_->axi_wdata = data;
    control_->axi_wstrb = static_cast<uint8_t>(strobe);
    Step();
    control_->axi_awvalid = control_->axi_wvalid = 0;
    control_->axi_bready = 1;
    while (!control_->axi_bvalid) Step();
    const uint32_t response = control_->axi_bresp;
    Step();
    control_->axi_bready = 0;
    return response;
  }

  // Returns the data, and nothing if the response is an error. Stops the beats meanwhile, so that
  // counters can be compared.
  std::optional<uint32_t> Read(uint32_t address) {
    const bool had_beats = std::exchange(beats, false);
    control_->axi_arvalid = 1;
    control_->axi_araddr = static_cast<uint16_t>(address);
    Step();
    control_->axi_arvalid = 0;
    control_->axi_rready = 1;
    while (!control_->axi_rvalid) Step();
    std::optional<uint32_t> data;
    if (control_->axi_rresp == 0) data = control_->axi_rdata;
    Step();
    control_->axi_rready = 0;
    beats = had_beats;
    return data;
  }
  uint64_t ReadWide(uint32_t address) {
    const uint64_t low = Read(address).value();
    return low | uint64_t{Read(address + 4).value()} << 32;
  }

  Model& model() { return *control_; }
  Counters counters;
  bool beats = false;

 private:
  Simulation<Model> control_;
  Random random_;
};

TEST(Control, NamesItself) {
  Bench<Vdataflow_control> bench(1);
  EXPECT_EQ(bench.Read(kIdentity), 0x4b494c4eu);
  EXPECT_EQ(bench.Read(kVersion), 0x00030000u);
  EXPECT_EQ(bench.Read(kChannelCount), 4u);
  EXPECT_EQ(bench.Read(kStreamCount), 3u);
  for (uint32_t i = 0; i < 4; ++i) EXPECT_EQ(bench.Read(kHighest + 4 * i), 100 + i);
  for (const uint32_t address : {0x038u, 0x0fcu, 0x118u, 0x3fcu, 0x410u, 0xffcu}) {
    EXPECT_EQ(bench.Read(address), std::nullopt) << address;
    EXPECT_EQ(bench.Write(address, 1), 2u) << address;
  }
  for (const uint32_t address : {kIdentity, kStatus, kImagesIn, kCycles, kHighest}) {
    EXPECT_EQ(bench.Write(address, 1), 2u) << address;
  }
}

// The machine answers reads and accepts writes of the registers that its description lists, and of
// no other address. The list is that of the document.
TEST(Control, HasTheRegistersOfItsDescription) {
  const hardware::RegisterMap map = dataflow::Registers(4, 3);
  std::set<uint32_t> readable, writable, answered, accepted;
  for (const hardware::RegisterWord& word : WordsOf(map)) {
    if (word.readable) readable.insert(word.address);
    if (word.writable) writable.insert(word.address);
  }
  Bench<Vdataflow_control> bench(5);
  for (uint32_t address = 0; address < 0x1000; address += 4) {
    if (bench.Read(address).has_value()) answered.insert(address);
    if (bench.Write(address, 0) == 0u) accepted.insert(address);
  }
  EXPECT_EQ(answered, readable);
  EXPECT_EQ(accepted, writable);
  EXPECT_EQ(bench.Read(FindRegister(map, "IDENTITY").address), map.identity);
  EXPECT_EQ(bench.Read(FindRegister(map, "VERSION").address), map.version);
  const auto page = ReadFile(map.page);
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_NE(page->find("\n" + RegisterList(map)), std::string::npos)
      << map.page << " must have this list:\n\n"
      << RegisterList(map);
}

TEST(Control, HoldsAddressesUntilTheMachineRuns) {
  Bench<Vdataflow_control> bench(2);
  for (uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(bench.Write(kBaseAddresses + 8 * i, 0x10000000 + i), 0u);
    EXPECT_EQ(bench.Write(kBaseAddresses + 8 * i + 4, 0x20 + i), 0u);
    EXPECT_EQ(bench.Write(kBaseAddresses + 8 * i, 7, 3), 2u);  // not all strobes
  }
  for (uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(bench.ReadWide(kBaseAddresses + 8 * i), 0x10000000 + i + (uint64_t{0x20 + i} << 32));
    const std::vector<uint8_t> bytes = GetBytes(bench.model().base_addresses, 15);
    EXPECT_EQ(bytes[5 * i], i);
    EXPECT_EQ(bytes[5 * i + 3], 0x10);
    EXPECT_EQ(bytes[5 * i + 4], 0x20 + i);
  }
  EXPECT_EQ(bench.Read(kControl), 0u);
  EXPECT_EQ(bench.Write(kControl, 1), 0u);
  EXPECT_EQ(bench.Read(kControl), 1u);
  EXPECT_EQ(bench.Write(kBaseAddresses, 5), 2u);
  EXPECT_EQ(bench.Write(kControl, 0), 0u);
  EXPECT_EQ(bench.Write(kBaseAddresses, 5), 2u);
  EXPECT_EQ(bench.Read(kBaseAddresses), 0x10000000u);
}

template <typename Model>
void Compare(Bench<Model>& bench) {
  bench.beats = false;
  EXPECT_EQ(bench.Read(kStatus), bench.counters.InFlight());
  EXPECT_EQ(bench.Read(kImagesIn), bench.counters.images_in);
  EXPECT_EQ(bench.Read(kImagesOut), bench.counters.images_out);
  EXPECT_EQ(bench.ReadWide(kCycles), bench.counters.cycles);
  EXPECT_EQ(bench.ReadWide(kLatency), bench.counters.latency);
  EXPECT_EQ(bench.ReadWide(kInterval), bench.counters.interval);
  bench.beats = true;
}

TEST(Control, CountsImagesAndCycles) {
  Bench<Vdataflow_control> bench(3);
  bench.beats = true;
  EXPECT_EQ(bench.Write(kControl, 1), 0u);
  for (int i = 0; i < 60; ++i) {
    for (int k = 0; k < 5 + i; ++k) bench.Step();
    Compare(bench);
    if (i % 20 == 9) {
      EXPECT_EQ(bench.Write(kControl, 3), 0u);  // clears, and keeps running
      Compare(bench);
    }
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(bench.counters.images_out, 10u);
  bench.model().fault = 1;
  bench.beats = false;
  EXPECT_EQ(bench.Read(kStatus), 0x10000u + bench.counters.InFlight());
}

TEST(Control, RunsAfterTheResetIfAskedTo) {
  Bench<Vdataflow_control_runs> bench(4);
  EXPECT_EQ(bench.Read(kControl), 1u);
  bench.beats = true;
  for (int i = 0; i < 200; ++i) bench.Step();
  Compare(bench);
  EXPECT_GT(bench.counters.images_in, 5u);
}

}  // namespace
}  // namespace kiln::rtl
