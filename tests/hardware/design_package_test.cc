// Tests of the files that describe an emitted folder to other tools: quoting, names that scripts
// cannot take, and designs without a bus, registers or a clock. What the families emit is compared
// with other tools by tests/targets/conformance/folder_test.cc.
#include "kiln/hardware/design_package.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>

#include "fmt/format.h"

namespace kiln::hardware {
namespace {

using testing::HasSubstr;
using testing::Not;

DesignPackage Small() {
  DesignPackage package;
  package.name = "point_net";
  package.title = "a point";
  package.top.name = "top";
  package.top.buses = {{"in", AxiStreamSinkSignals(2)}};
  package.sources = {"rtl/kiln_fifo.sv", "top.sv"};
  package.programs = {"testbench/main.cc"};
  package.headers = {"design.h"};
  package.simulation_arguments = "--memory a.bin";
  return package;
}

std::map<std::string, std::string> FilesOf(const DesignPackage& package) {
  const auto files = PackageFiles(package);
  EXPECT_TRUE(files.ok()) << files.status();
  if (!files.ok()) return {};
  return {files->begin(), files->end()};
}

TEST(DesignPackage, TheClockIsStatedOrAStartingPoint) {
  DesignPackage package = Small();
  EXPECT_EQ(ClockConstraint(package),
            "# The clock of top, emitted by Kiln: 100 MHz.\n"
            "# The design point states no clock; this frequency is a starting point.\n"
            "create_clock -name clock -period 10.000 [get_ports clock]\n");
  package.clock_mhz = 50;
  EXPECT_EQ(ClockConstraint(package),
            "# The clock of top, emitted by Kiln: 50 MHz.\n"
            "# The design point states this frequency.\n"
            "create_clock -name clock -period 20.000 [get_ports clock]\n");
}

TEST(DesignPackage, FreeTextIsQuoted) {
  DesignPackage package = Small();
  package.title = "a \"b\" \\ <c> & \n[exit]";
  const auto files = FilesOf(package);
  EXPECT_THAT(files.at("design.core"),
              HasSubstr("\ndescription: \"a \\\"b\\\" \\\\ <c> &  [exit]\"\n"));
  EXPECT_THAT(files.at("component.xml"),
              HasSubstr("<ipxact:description>a &quot;b&quot; \\ &lt;c&gt; &amp;  [exit]</"));
  EXPECT_THAT(files.at("vivado.tcl"), Not(HasSubstr("[exit]")));
  EXPECT_THAT(files.at("design.xdc"), Not(HasSubstr("[exit]")));
}

TEST(DesignPackage, NamesOfScriptsArePlain) {
  const auto refused = [](const std::function<void(DesignPackage*)>& change) {
    DesignPackage package = Small();
    change(&package);
    return MessageOf(PackageFiles(package).status());
  };
  const std::string why =
      "cannot be written into scripts of other tools; letters, digits and _, "
      "and in paths also . - + /";
  for (const std::string hostile : {"a b", "a;b", "[exit]", "$a", "a\nb", "a{b", "a:b", "\"a\""}) {
    EXPECT_THAT(refused([&](DesignPackage* p) { p->name = hostile; }), HasSubstr(why)) << hostile;
    EXPECT_THAT(refused([&](DesignPackage* p) { p->top.name = hostile; }), HasSubstr(why));
    EXPECT_THAT(refused([&](DesignPackage* p) { p->top.buses[0].name = hostile; }), HasSubstr(why));
    EXPECT_THAT(refused([&](DesignPackage* p) { p->sources[0] = hostile; }), HasSubstr(why));
    EXPECT_THAT(refused([&](DesignPackage* p) { p->contents = {hostile}; }), HasSubstr(why));
    EXPECT_THAT(refused([&](DesignPackage* p) { p->data = {hostile}; }), HasSubstr(why));
    EXPECT_THAT(refused([&](DesignPackage* p) { p->programs = {hostile}; }), HasSubstr(why));
    EXPECT_THAT(refused([&](DesignPackage* p) { p->headers = {hostile}; }), HasSubstr(why));
  }
  EXPECT_THAT(refused([](DesignPackage* p) { p->sources[0] = "../top.sv"; }),
              testing::StartsWith("the file '___top_sv': cannot"));
  EXPECT_EQ(refused([](DesignPackage*) {}), "");
}

// By hand, after Arm IHI 0022 and the registry of its IP-XACT definitions.
TEST(DesignPackage, BusesHaveTheirKindAndMode) {
  DesignPackage package = Small();
  package.top.buses = {{"control", AxiLiteSignals()},
                       {"both", AxiSignals(8, 40)},
                       {"read", AxiReadSignals(8, 32)},
                       {"write", AxiWriteSignals(8, 32)},
                       {"send", AxiStreamSourceSignals(4, true)}};
  package.top.ports = {{true, 1, "irq"}};
  const std::string xml = IpXactComponent(package);
  for (const char* type :
       {"name=\"AXI4-Lite_rtl\" version=\"r0p0_0\"", "name=\"AXI4_rtl\" version=\"r0p0_0\"",
        "name=\"AXI4_RO_rtl\" version=\"r0p0_0\"", "name=\"AXI4_WO_rtl\" version=\"r0p0_0\"",
        "name=\"AXI4Stream_rtl\" version=\"r0p0_1\"", "name=\"interrupt_rtl\" version=\"1.0\""}) {
    EXPECT_THAT(xml, HasSubstr(type));
  }
  // 2^40 bytes behind the masters; without a description of registers there is no memory map.
  EXPECT_THAT(xml, HasSubstr("<ipxact:range>1099511627776</ipxact:range>"));
  EXPECT_THAT(xml, Not(HasSubstr("memoryMap")));
  EXPECT_THAT(xml, HasSubstr("<ipxact:value>control:both:read:write:send</ipxact:value>"));
  EXPECT_THAT(VivadoScript(package), HasSubstr("  send xilinx.com:interface:axis_rtl:1.0 {\n"));
  EXPECT_THAT(VivadoScript(package), HasSubstr("\nset interrupts {irq}\n"));
  package = Small();
  EXPECT_THAT(IpXactComponent(package), Not(HasSubstr("addressSpace")));
  EXPECT_THAT(VivadoScript(package), HasSubstr("\nset interrupts {}\n"));
}

TEST(DesignPackage, RegistersOfTwoWordsAndOfSeveralAreListedOneByOne) {
  DesignPackage package = Small();
  package.top.buses = {{"control", AxiLiteSignals()}};
  RegisterMap map;
  map.machine = "a machine";
  map.identity = 0x4b494c4e;
  map.version = 0;
  map.registers = {{"IDENTITY", 0x000, true, false, "\"KILN\" & more"},
                   {"STATUS", 0x00c, true, true, "", {{"CODE", 15, 4, "a code"}}},
                   {"BASE", 0x100, false, true, "a base", {}, {}, 2, 2, 16}};
  map.counters = {{"array.busy", 0x200, 2, "cycles"}};
  package.registers = {{"control", map}};
  const std::string xml = IpXactComponent(package);
  for (const auto& [name, address] : std::map<std::string, std::string>{{"BASE_0", "100"},
                                                                        {"BASE_HIGH_0", "104"},
                                                                        {"BASE_1", "110"},
                                                                        {"BASE_HIGH_1", "114"},
                                                                        {"array_busy", "200"},
                                                                        {"array_busy_high", "204"},
                                                                        {"STATUS", "c"}}) {
    const size_t at = xml.find("<ipxact:name>" + name + "</ipxact:name>");
    ASSERT_NE(at, std::string::npos) << name;
    const size_t offset = xml.find("<ipxact:addressOffset>", at);
    EXPECT_EQ(xml.substr(offset, 26 + address.size()), "<ipxact:addressOffset>'h" + address + "</")
        << name;
  }
  EXPECT_THAT(xml, HasSubstr("<ipxact:bitOffset>4</ipxact:bitOffset>"));
  EXPECT_THAT(xml, HasSubstr("<ipxact:bitWidth>12</ipxact:bitWidth>"));
  EXPECT_THAT(xml, HasSubstr("<ipxact:value>'h4b494c4e</ipxact:value>"));
  EXPECT_THAT(xml, HasSubstr("&quot;KILN&quot; &amp; more"));
  EXPECT_THAT(xml, HasSubstr("<ipxact:access>write-only</ipxact:access>"));
  EXPECT_THAT(VivadoScript(package), HasSubstr("\nset registers {control 4096}\n"));
}

// A machine behind memory has the registers of both.
TEST(DesignPackage, EachBusHasItsOwnRegisters) {
  DesignPackage package = Small();
  package.top.buses = {{"control", AxiLiteSignals()}, {"machine", AxiLiteSignals()}};
  RegisterMap map;
  map.machine = "a machine";
  map.identity = 1;
  map.version = 0;
  map.registers = {{"IDENTITY", 0x000, true, false, "of one"}};
  package.registers = {{"machine", map}};
  EXPECT_THAT(IpXactComponent(package), Not(HasSubstr("control_registers")));
  package.registers = {{"control", map}, {"machine", map}};
  const std::string xml = IpXactComponent(package);
  for (const char* bus : {"control", "machine"}) {
    EXPECT_THAT(xml, HasSubstr(fmt::format("memoryMapRef=\"{}_registers\"", bus)));
    EXPECT_THAT(xml, HasSubstr(fmt::format("<ipxact:name>{}_registers</ipxact:name>", bus)));
  }
  EXPECT_THAT(xml, HasSubstr("<ipxact:name>ASSOCIATED_RESET</ipxact:name>"));
  EXPECT_THAT(VivadoScript(package), HasSubstr("\nset registers {control 4096 machine 4096}\n"));
}

}  // namespace
}  // namespace kiln::hardware
