// Checks that kiln_axi_lite_checker reports every broken rule, on a quiet bus and amid random
// traffic, and reports nothing on a correct bus.
#include <array>
#include <functional>

#include "Vaxi_lite_checker.h"
#include "tests/rtl/support.h"

namespace kiln::rtl {
namespace {

// The numbers of kiln_axi_pkg.sv.
enum Rule {
  kStableAr = 0,
  kStableR = 1,
  kStableAw = 2,
  kStableW = 3,
  kStableB = 4,
  kReset = 5,
  kResponseCode = 8,
  kReadCount = 9,
  kWriteCount = 12
};

constexpr uint8_t kOkay = 0, kExokay = 1, kSlverr = 2, kDecerr = 3;

using Checker = Vaxi_lite_checker;

// A bus on which each call is one cycle.
class Bus {
 public:
  explicit Bus(uint64_t seed = 1) : checker_(seed) {
    Quiet();
    checker_.Reset();
    Step();
  }

  // Nothing is offered, everything would be taken.
  void Quiet() {
    Checker& c = *checker_;
    c.axi_awvalid = c.axi_wvalid = c.axi_bvalid = c.axi_arvalid = c.axi_rvalid = 0;
    c.axi_awready = c.axi_wready = c.axi_bready = c.axi_arready = c.axi_rready = 1;
  }
  void Step() {
    checker_.Settle();
    checker_.Step();
  }
  // What happens in one cycle, besides a quiet bus.
  void Cycle(const std::function<void(Checker&)>& happens) {
    Quiet();
    happens(*checker_);
    Step();
  }
  void Reset() { checker_.Reset(); }
  Checker& pins() { return *checker_; }

  // Rules broken so far; each was reported as an error, too.
  unsigned Violations() {
    EXPECT_EQ(checker_.TakeError(), checker_->violations != 0);
    return checker_->violations;
  }

 private:
  Simulation<Checker> checker_;
};

void Aw(Checker& c, uint16_t address = 0x10) {
  c.axi_awvalid = 1;
  c.axi_awaddr = address;
}
void W(Checker& c, uint32_t data = 0x12345678, uint8_t strobes = 15) {
  c.axi_wvalid = 1;
  c.axi_wdata = data;
  c.axi_wstrb = strobes;
}
void B(Checker& c, uint8_t response = kOkay) {
  c.axi_bvalid = 1;
  c.axi_bresp = response;
}
void Ar(Checker& c, uint16_t address = 0x10) {
  c.axi_arvalid = 1;
  c.axi_araddr = address;
}
void R(Checker& c, uint8_t response = kOkay, uint32_t data = 0x9abcdef0) {
  c.axi_rvalid = 1;
  c.axi_rresp = response;
  c.axi_rdata = data;
}

TEST(AxiLiteChecker, LetsPassWhatIsAllowed) {
  Bus bus;
  // Two reads under way, an answer while the next address comes, one that waits.
  bus.Cycle([](auto& c) { Ar(c); });
  bus.Cycle([](auto& c) { Ar(c, 0x21); });
  bus.Cycle([](auto& c) {
    Ar(c, 0xfff);
    R(c);
  });
  for (const uint8_t ready : {0, 0, 1}) {
    bus.Cycle([ready](auto& c) {
      R(c, kSlverr);
      c.axi_rready = ready;
    });
  }
  bus.Cycle([](auto& c) { R(c, kDecerr); });
  // Data before their address, an address before its data, both at once; responses of all kinds; no
  // strobes.
  bus.Cycle([](auto& c) { W(c); });
  bus.Cycle([](auto& c) { W(c, 1, 0); });
  for (const uint8_t ready : {0, 1}) {
    bus.Cycle([ready](auto& c) {
      Aw(c);
      c.axi_awready = ready;
    });
  }
  bus.Cycle([](auto& c) {
    Aw(c);
    B(c);
  });
  bus.Cycle([](auto& c) { Aw(c, 0x13); });
  bus.Cycle([](auto& c) {
    W(c, 0, 5);
    B(c, kSlverr);
  });
  bus.Cycle([](auto& c) {
    Aw(c);
    W(c);
    B(c, kDecerr);
  });
  for (const uint8_t ready : {0, 1}) {
    bus.Cycle([ready](auto& c) {
      B(c);
      c.axi_bready = ready;
    });
  }
  bus.Cycle([](auto&) {});
  EXPECT_EQ(bus.Violations(), 0u);
}

// A held offer that changes or goes away, on each channel.
TEST(AxiLiteChecker, SeesWhatChangesBeforeItIsTaken) {
  struct Case {
    Rule rule;
    std::function<void(Checker&)> offer;  // not taken
    std::function<void(Checker&)> change;
  };
  const auto aw = [](auto& c) { Aw(c), c.axi_awready = 0; };
  const auto w = [](auto& c) { W(c), c.axi_wready = 0; };
  const auto b = [](auto& c) { B(c), c.axi_bready = 0; };
  const auto ar = [](auto& c) { Ar(c), c.axi_arready = 0; };
  const auto r = [](auto& c) { R(c), c.axi_rready = 0; };
  const std::vector<Case> cases = {
      {kStableAw, aw, [](auto& c) { c.axi_awaddr ^= 0x800; }},
      {kStableW, w, [](auto& c) { c.axi_wdata ^= 0x80000000; }},
      {kStableW, w, [](auto& c) { c.axi_wstrb ^= 1; }},
      {kStableB, b, [](auto& c) { c.axi_bresp = kSlverr; }},
      {kStableAr, ar, [](auto& c) { c.axi_araddr ^= 1; }},
      {kStableR, r, [](auto& c) { c.axi_rdata ^= 1; }},
      {kStableR, r, [](auto& c) { c.axi_rresp = kDecerr; }},
  };
  for (const Case& c : cases) {
    for (const bool withdraw : {false, true}) {
      for (const bool taken :
           {false, true}) {  // a change in the very cycle that takes it is one, too
        Bus bus;
        bus.Cycle([](auto& p) {  // so that R and B have something to answer
          Ar(p);
          Aw(p);
          W(p);
        });
        bus.Cycle(c.offer);
        bus.Cycle(c.offer);
        EXPECT_EQ(bus.Violations(), 0u) << c.rule;
        bus.Cycle([&](auto& p) {
          if (!withdraw) {
            c.offer(p);
            c.change(p);
          }
          if (taken) p.axi_awready = p.axi_wready = p.axi_bready = p.axi_arready = p.axi_rready = 1;
        });
        EXPECT_EQ(bus.Violations(), 1u << c.rule)
            << "withdrawn: " << withdraw << ", taken: " << taken;
      }
    }
  }
}

// Each of these breaks one rule, and only that one.
TEST(AxiLiteChecker, SeesEachRuleBroken) {
  struct Case {
    const char* what;
    Rule rule;
    std::vector<std::function<void(Checker&)>> cycles;
  };
  const std::vector<Case> cases = {
      {"EXOKAY of a read", kResponseCode, {[](auto& c) { Ar(c); }, [](auto& c) { R(c, kExokay); }}},
      {"EXOKAY of a write",
       kResponseCode,
       {[](auto& c) { Aw(c), W(c); }, [](auto& c) { B(c, kExokay); }}},
      {"data that nobody asked for", kReadCount, {[](auto& c) { R(c); }}},
      {"data in the cycle of the address", kReadCount, {[](auto& c) { Ar(c), R(c); }}},
      {"data of an address that waits",
       kReadCount,
       {[](auto& c) { Ar(c), c.axi_arready = 0; }, [](auto& c) { Ar(c), R(c); }}},
      {"an answer too many",
       kReadCount,
       {[](auto& c) { Ar(c); }, [](auto& c) { R(c); }, [](auto& c) { R(c); }}},
      {"response before the data", kWriteCount, {[](auto& c) { Aw(c); }, [](auto& c) { B(c); }}},
      {"response before the address", kWriteCount, {[](auto& c) { W(c); }, [](auto& c) { B(c); }}},
      {"response in the cycle of the data",
       kWriteCount,
       {[](auto& c) { Aw(c); }, [](auto& c) { W(c), B(c); }}},
      {"response in the cycle of the address",
       kWriteCount,
       {[](auto& c) { W(c); }, [](auto& c) { Aw(c), B(c); }}},
      {"response to a read", kWriteCount, {[](auto& c) { Ar(c); }, [](auto& c) { B(c); }}},
      {"two addresses, one word, two responses",
       kWriteCount,
       {[](auto& c) { Aw(c), W(c); }, [](auto& c) { Aw(c); }, [](auto& c) { B(c); },
        [](auto& c) { B(c); }}},
      {"two words, one address, two responses",
       kWriteCount,
       {[](auto& c) { Aw(c), W(c); }, [](auto& c) { W(c); }, [](auto& c) { B(c); },
        [](auto& c) { B(c); }}},
  };
  for (const Case& c : cases) {
    Bus bus;
    for (const auto& cycle : c.cycles) {
      EXPECT_EQ(bus.Violations(), 0u) << c.what << ": too early";
      bus.Cycle(cycle);
    }
    EXPECT_EQ(bus.Violations(), 1u << c.rule) << c.what;
    bus.Cycle([](auto&) {});
    EXPECT_EQ(bus.pins().violations, 1u << c.rule) << c.what << ": forgotten";
  }
}

// On every channel, during a reset and in the cycle behind it. A reset forgets what was under way,
// and what was broken.
TEST(AxiLiteChecker, SeesAValidAtReset) {
  const std::vector<std::function<void(Checker&)>> offers = {
      [](auto& c) { Aw(c); }, [](auto& c) { W(c); }, [](auto& c) { B(c); },
      [](auto& c) { Ar(c); }, [](auto& c) { R(c); },
  };
  for (size_t channel = 0; channel < offers.size(); ++channel) {
    Bus bus;
    offers[channel](bus.pins());
    bus.Reset();
    EXPECT_EQ(bus.Violations(), 1u << kReset) << "during, channel " << channel;
    bus.Quiet();
    bus.Step();
    bus.Reset();
    bus.Step();
    EXPECT_EQ(bus.Violations(), 0u);

    const bool answers = channel == 2 || channel == 4;
    bus.Cycle([](auto& c) { Ar(c), Aw(c), W(c); });
    bus.Quiet();
    bus.Reset();
    bus.Cycle(offers[channel]);
    const unsigned count =
        channel == 2 ? kWriteCount : kReadCount;  // of a request before the reset
    EXPECT_EQ(bus.Violations(), 1u << kReset | (answers ? 1u << count : 0u))
        << "behind, channel " << channel;
  }
}

// Software and a slave that keep to the rules, with several accesses under way and stalls on all
// channels.
class Traffic {
 public:
  Traffic(uint64_t seed, double stall)
      : random_(seed),
        stall_{Stalls(seed + 1, stall), Stalls(seed + 2, stall), Stalls(seed + 3, stall),
               Stalls(seed + 4, stall), Stalls(seed + 5, stall)} {}

  void Cycle(Checker& c) {
    const bool go[5] = {!stall_[0].Next(), !stall_[1].Next(), !stall_[2].Next(), !stall_[3].Next(),
                        !stall_[4].Next()};
    // What was not taken stays as it is. Otherwise a transfer may begin; the payload of a channel
    // that is not valid may have any value.
    if (!aw_held_)
      Aw(c, static_cast<uint16_t>(random_.Below(4096))),
          c.axi_awvalid = go[0] && addresses_ - answered_writes_ < kUnderWay;
    if (!w_held_)
      W(c, static_cast<uint32_t>(random_()), static_cast<uint8_t>(random_.Below(16))),
          c.axi_wvalid = go[1] && data_ - answered_writes_ < kUnderWay;
    if (!b_held_)
      B(c, Response()), c.axi_bvalid = go[2] && answered_writes_ < std::min(addresses_, data_);
    if (!ar_held_)
      Ar(c, static_cast<uint16_t>(random_.Below(4096))),
          c.axi_arvalid = go[3] && reads_ - answered_reads_ < kUnderWay;
    if (!r_held_)
      R(c, Response(), static_cast<uint32_t>(random_())),
          c.axi_rvalid = go[4] && answered_reads_ < reads_;
    c.axi_awready = random_.Below(2) == 0;
    c.axi_wready = random_.Below(2) == 0;
    c.axi_bready = random_.Below(2) == 0;
    c.axi_arready = random_.Below(2) == 0;
    c.axi_rready = random_.Below(2) == 0;
    aw_held_ = c.axi_awvalid && !c.axi_awready;
    w_held_ = c.axi_wvalid && !c.axi_wready;
    b_held_ = c.axi_bvalid && !c.axi_bready;
    ar_held_ = c.axi_arvalid && !c.axi_arready;
    r_held_ = c.axi_rvalid && !c.axi_rready;
    addresses_ += c.axi_awvalid && c.axi_awready;
    data_ += c.axi_wvalid && c.axi_wready;
    answered_writes_ += c.axi_bvalid && c.axi_bready;
    reads_ += c.axi_arvalid && c.axi_arready;
    answered_reads_ += c.axi_rvalid && c.axi_rready;
  }

  bool aw_held() const { return aw_held_; }
  bool w_held() const { return w_held_; }
  bool b_held() const { return b_held_; }
  bool ar_held() const { return ar_held_; }
  bool r_held() const { return r_held_; }
  uint64_t answered_writes() const { return answered_writes_; }
  uint64_t answered_reads() const { return answered_reads_; }
  uint64_t writes_under_way() const { return std::min(addresses_, data_) - answered_writes_; }
  uint64_t reads_under_way() const { return reads_ - answered_reads_; }

 private:
  static constexpr uint64_t kUnderWay = 3;  // accesses at once

  uint8_t Response() {
    constexpr uint8_t kResponses[] = {kOkay, kSlverr, kDecerr};
    return kResponses[random_.Below(3)];
  }

  Random random_;
  std::array<Stalls, 5> stall_;
  bool aw_held_ = false, w_held_ = false, b_held_ = false, ar_held_ = false, r_held_ = false;
  uint64_t addresses_ = 0, data_ = 0, answered_writes_ = 0, reads_ = 0, answered_reads_ = 0;
};

TEST(AxiLiteChecker, LetsPassRandomTraffic) {
  for (const double stall : {0.0, 0.3, 0.8}) {
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      Bus bus(seed);
      Traffic traffic(seed, stall);
      for (int i = 0; i < 4'000; ++i) {
        traffic.Cycle(bus.pins());
        bus.Step();
        ASSERT_EQ(bus.Violations(), 0u)
            << "cycle " << i << ", stalls " << stall << ", seed " << seed;
      }
      EXPECT_GT(traffic.answered_writes(), 100u);
      EXPECT_GT(traffic.answered_reads(), 100u);
    }
  }
}

// Amid traffic, one wrong cycle: it is found in that very cycle.
TEST(AxiLiteChecker, SeesAFaultAmidRandomTraffic) {
  struct Case {
    const char* what;
    Rule rule;
    std::function<bool(const Traffic&)> possible;  // before the cycle
    std::function<void(Checker&)> spoil;
  };
  const std::vector<Case> cases = {
      {"address withdrawn", kStableAw, [](const Traffic& t) { return t.aw_held(); },
       [](auto& c) { c.axi_awvalid = 0; }},
      {"address changed", kStableAw, [](const Traffic& t) { return t.aw_held(); },
       [](auto& c) { c.axi_awaddr ^= 4; }},
      {"data withdrawn", kStableW, [](const Traffic& t) { return t.w_held(); },
       [](auto& c) { c.axi_wvalid = 0; }},
      {"strobes changed", kStableW, [](const Traffic& t) { return t.w_held(); },
       [](auto& c) { c.axi_wstrb ^= 8; }},
      {"response withdrawn", kStableB, [](const Traffic& t) { return t.b_held(); },
       [](auto& c) { c.axi_bvalid = 0; }},
      {"read address withdrawn", kStableAr, [](const Traffic& t) { return t.ar_held(); },
       [](auto& c) { c.axi_arvalid = 0; }},
      {"read data changed", kStableR, [](const Traffic& t) { return t.r_held(); },
       [](auto& c) { c.axi_rdata ^= 0x100; }},
      {"response to nothing", kWriteCount,
       [](const Traffic& t) { return t.writes_under_way() == 0; }, [](auto& c) { B(c); }},
      {"read data of nothing", kReadCount,
       [](const Traffic& t) { return t.reads_under_way() == 0; }, [](auto& c) { R(c); }},
      {"EXOKAY", kResponseCode,
       [](const Traffic& t) { return t.reads_under_way() != 0 && !t.r_held(); },
       [](auto& c) { R(c, kExokay); }},
  };
  for (const Case& c : cases) {
    for (uint64_t seed = 1; seed <= 10; ++seed) {
      Bus bus(seed);
      Traffic traffic(seed, 0.4);
      bool spoilt = false;
      for (uint64_t i = 0; i < 1'000 && !spoilt; ++i) {
        spoilt = i > 20 * seed && c.possible(traffic);
        traffic.Cycle(bus.pins());
        if (spoilt) c.spoil(bus.pins());
        bus.Step();
        ASSERT_EQ(bus.Violations(), spoilt ? 1u << c.rule : 0u)
            << c.what << ", seed " << seed << ", cycle " << i;
      }
      EXPECT_TRUE(spoilt) << c.what;
    }
  }
}

}  // namespace
}  // namespace kiln::rtl
