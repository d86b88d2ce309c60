// Checks that kiln_axi_checker reports every broken rule, with one faulty bus per rule, and reports
// nothing on a correct bus.
#include <functional>

#include "Vaxi_checker.h"
#include "tests/rtl/support.h"

namespace kiln::rtl {
namespace {

// The numbers of kiln_axi_pkg.sv.
enum Rule {
  kStableAr,
  kStableR,
  kStableAw,
  kStableW,
  kStableB,
  kReset,
  kPage,
  kBurst,
  kResponseCode,
  kReadCount,
  kReadLast,
  kWriteLast,
  kWriteCount
};

// A bus of 16 bytes and two IDs on which each call is one cycle.
class Bus {
 public:
  Bus() {
    Quiet();
    checker_.Reset();
    Step();
  }
  Vaxi_checker* operator->() { return &*checker_; }

  void Quiet() {
    checker_->axi_arvalid = checker_->axi_rvalid = checker_->axi_awvalid = checker_->axi_wvalid =
        checker_->axi_bvalid = 0;
    checker_->axi_arready = checker_->axi_rready = checker_->axi_awready = checker_->axi_wready =
        checker_->axi_bready = 1;
  }
  void Step() {
    checker_.Settle();
    checker_.Step();
  }
  // What happens in one cycle, besides a quiet bus.
  void Cycle(const std::function<void(Vaxi_checker&)>& happens) {
    Quiet();
    happens(*checker_);
    Step();
  }
  void Reset() { checker_.Reset(); }

  // Rules broken so far; each was reported as an error, too.
  unsigned Violations() {
    EXPECT_EQ(checker_.TakeError(), checker_->violations != 0);
    return checker_->violations;
  }

 private:
  Simulation<Vaxi_checker> checker_;
};

void Ar(Vaxi_checker& bus, uint64_t address, int length, int id = 0) {
  bus.axi_arvalid = 1;
  bus.axi_araddr = address;
  bus.axi_arlen = static_cast<uint8_t>(length);
  bus.axi_arid = static_cast<uint8_t>(id);
  bus.axi_arsize = 4;
  bus.axi_arburst = 1;
}
void Aw(Vaxi_checker& bus, uint64_t address, int length, int id = 0) {
  bus.axi_awvalid = 1;
  bus.axi_awaddr = address;
  bus.axi_awlen = static_cast<uint8_t>(length);
  bus.axi_awid = static_cast<uint8_t>(id);
  bus.axi_awsize = 4;
  bus.axi_awburst = 1;
}
void R(Vaxi_checker& bus, bool last, int id = 0, int response = 0) {
  bus.axi_rvalid = 1;
  bus.axi_rlast = last;
  bus.axi_rid = static_cast<uint8_t>(id);
  bus.axi_rresp = static_cast<uint8_t>(response);
}
void W(Vaxi_checker& bus, bool last) {
  bus.axi_wvalid = 1;
  bus.axi_wlast = last;
  bus.axi_wstrb = 0xffff;
}
void B(Vaxi_checker& bus, int id = 0, int response = 0) {
  bus.axi_bvalid = 1;
  bus.axi_bid = static_cast<uint8_t>(id);
  bus.axi_bresp = static_cast<uint8_t>(response);
}

TEST(AxiChecker, LetsPassWhatIsAllowed) {
  Bus bus;
  // Two bursts of one ID and one of another between them; data of the IDs interleaved; a beat that
  // waits; the first data in the cycle after the address.
  bus.Cycle([](auto& b) { Ar(b, 0xff0, 0); });
  bus.Cycle([](auto& b) {
    Ar(b, 0x1000, 1, 1);
    R(b, true);
  });
  bus.Cycle([](auto& b) { Ar(b, 0x2000, 255); });
  bus.Cycle([](auto& b) { R(b, false, 1); });
  for (int i = 0; i < 255; ++i) {
    bus.Cycle([](auto& b) { R(b, false); });
  }
  for (int i = 0; i < 3; ++i) {
    bus.Cycle([i](auto& b) {
      R(b, true, 1, 2);
      b.axi_rready = i == 2;
    });
  }
  bus.Cycle([](auto& b) { R(b, true, 0, 3); });
  // Data before their address, data with it, an address that waits, responses that overtake.
  bus.Cycle([](auto& b) { W(b, false); });
  bus.Cycle([](auto& b) { W(b, true); });
  bus.Cycle([](auto& b) {
    Aw(b, 0, 1, 1);
    W(b, true);
    b.axi_awready = 0;
  });
  bus.Cycle([](auto& b) { Aw(b, 0, 1, 1); });
  bus.Cycle([](auto& b) { Aw(b, 0x40, 0, 0); });
  bus.Cycle([](auto& b) { B(b, 0); });
  bus.Cycle([](auto& b) {
    B(b, 1);
    b.axi_bready = 0;
  });
  bus.Cycle([](auto& b) { B(b, 1); });
  bus.Cycle([](auto&) {});
  EXPECT_EQ(bus.Violations(), 0u);
}

// A held offer that changes or goes away, on each channel.
TEST(AxiChecker, SeesWhatChangesBeforeItIsTaken) {
  struct Case {
    Rule rule;
    std::function<void(Vaxi_checker&)> offer;  // not taken
    std::function<void(Vaxi_checker&)> change;
  };
  const std::vector<Case> cases = {
      {kStableAr,
       [](auto& b) {
         Ar(b, 0x100, 0);
         b.axi_arready = 0;
       },
       [](auto& b) { b.axi_araddr = 0x110; }},
      {kStableAw,
       [](auto& b) {
         Aw(b, 0x100, 0);
         b.axi_awready = 0;
       },
       [](auto& b) { b.axi_awlen = 1; }},
      {kStableW,
       [](auto& b) {
         W(b, true);
         b.axi_wready = 0;
       },
       [](auto& b) { b.axi_wdata[3] ^= 0x80000000; }},
      {kStableR,
       [](auto& b) {
         R(b, true);
         b.axi_rready = 0;
       },
       [](auto& b) { b.axi_rdata[2] ^= 1; }},
      {kStableB,
       [](auto& b) {
         B(b);
         b.axi_bready = 0;
       },
       [](auto& b) { b.axi_bresp = 2; }},
  };
  for (const Case& c : cases) {
    for (const bool withdraw : {false, true}) {
      Bus bus;
      bus.Cycle([](auto& b) {  // so that R and B have something to answer
        Ar(b, 0, 0);
        Aw(b, 0, 0);
        W(b, true);
      });
      bus.Cycle(c.offer);
      bus.Cycle(c.offer);
      EXPECT_EQ(bus.Violations(), 0u) << c.rule;
      bus.Cycle([&](auto& b) {
        if (!withdraw) {
          c.offer(b);
          c.change(b);
        }
      });
      EXPECT_EQ(bus.Violations(), 1u << c.rule) << "withdrawn: " << withdraw;
    }
  }
}

// Each of these breaks one rule, and only that one.
TEST(AxiChecker, SeesEachRuleBroken) {
  struct Case {
    const char* what;
    Rule rule;
    std::function<void(Bus&)> run;
  };
  const auto cycle = [](auto happens) { return [happens](Bus& bus) { bus.Cycle(happens); }; };
  const std::vector<Case> cases = {
      {"read across 4 KiB", kPage, cycle([](auto& b) { Ar(b, 0xff0, 1); })},
      {"write across 4 KiB", kPage, cycle([](auto& b) { Aw(b, 0x1f00, 16); })},
      {"unaligned", kBurst, cycle([](auto& b) { Ar(b, 0x108, 0); })},
      {"narrow", kBurst, cycle([](auto& b) {
         Ar(b, 0x100, 0);
         b.axi_arsize = 3;
       })},
      {"wrapping", kBurst, cycle([](auto& b) {
         Aw(b, 0x100, 0);
         b.axi_awburst = 2;
       })},
      {"EXOKAY", kResponseCode,
       [](Bus& bus) {
         bus.Cycle([](auto& b) { Ar(b, 0x100, 0); });
         bus.Cycle([](auto& b) { R(b, true, 0, 1); });
       }},
      {"data that nobody asked for", kReadCount, cycle([](auto& b) { R(b, true); })},
      {"data in the cycle of the address", kReadCount, cycle([](auto& b) {
         Ar(b, 0x100, 0);
         R(b, true);
       })},
      {"data of another ID", kReadCount,
       [](Bus& bus) {
         bus.Cycle([](auto& b) { Ar(b, 0x100, 0, 1); });
         bus.Cycle([](auto& b) { R(b, true, 0); });
       }},
      {"one beat too many", kReadCount,
       [](Bus& bus) {
         bus.Cycle([](auto& b) { Ar(b, 0x100, 0); });
         bus.Cycle([](auto& b) { R(b, true); });
         bus.Cycle([](auto& b) { R(b, true); });
       }},
      {"RLAST early", kReadLast,
       [](Bus& bus) {
         bus.Cycle([](auto& b) { Ar(b, 0x100, 1); });
         bus.Cycle([](auto& b) { R(b, true); });
       }},
      {"RLAST missing", kReadLast,
       [](Bus& bus) {
         bus.Cycle([](auto& b) { Ar(b, 0x100, 0); });
         bus.Cycle([](auto& b) { R(b, false); });
       }},
      {"WLAST early", kWriteLast,
       [](Bus& bus) {
         bus.Cycle([](auto& b) { Aw(b, 0x100, 1); });
         bus.Cycle([](auto& b) { W(b, true); });
       }},
      {"WLAST missing", kWriteLast,
       [](Bus& bus) {
         bus.Cycle([](auto& b) { Aw(b, 0x100, 0); });
         bus.Cycle([](auto& b) { W(b, false); });
       }},
      {"another length than the address that follows says", kWriteLast,
       [](Bus& bus) {
         bus.Cycle([](auto& b) { W(b, true); });
         bus.Cycle([](auto& b) { Aw(b, 0x100, 1); });
       }},
      {"response before the data", kWriteCount,
       [](Bus& bus) {
         bus.Cycle([](auto& b) { Aw(b, 0x100, 0); });
         bus.Cycle([](auto& b) { B(b); });
       }},
      {"response before the address", kWriteCount,
       [](Bus& bus) {
         bus.Cycle([](auto& b) { W(b, true); });
         bus.Cycle([](auto& b) { B(b); });
       }},
      {"response in the cycle of the data", kWriteCount,
       [](Bus& bus) {
         bus.Cycle([](auto& b) { Aw(b, 0x100, 0); });
         bus.Cycle([](auto& b) {
           W(b, true);
           B(b);
         });
       }},
      {"response of another ID", kWriteCount,
       [](Bus& bus) {
         bus.Cycle([](auto& b) {
           Aw(b, 0x100, 0, 1);
           W(b, true);
         });
         bus.Cycle([](auto& b) { B(b, 0); });
       }},
      {"valid during reset", kReset,
       [](Bus& bus) {
         Ar(*bus.operator->(), 0x100, 0);
         bus.Reset();
         bus.Quiet();
       }},
      {"valid in the cycle after reset", kReset,
       [](Bus& bus) {
         bus.Reset();
         bus.Cycle([](auto& b) { Ar(b, 0x100, 0); });
       }},
  };
  for (const Case& c : cases) {
    Bus bus;
    c.run(bus);
    EXPECT_EQ(bus.Violations(), 1u << c.rule) << c.what;
    bus.Cycle([](auto&) {});
    EXPECT_EQ(bus->violations, 1u << c.rule) << c.what << ": forgotten";
  }
}

}  // namespace
}  // namespace kiln::rtl
