// Describes the top, the registers, the sample and the guide of stream machines behind memory.

#include "kiln/hardware/stream_memory.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <string_view>
#include <utility>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "kiln/hardware/axi_signals.h"
#include "kiln/hardware/driver_folder.h"
#include "kiln/hardware/top_module.h"
#include "kiln/support/check.h"
#include "kiln/support/integer.h"

namespace kiln::hardware {
namespace {

constexpr char kTopName[] = "kiln_memory_accelerator";
constexpr char kMachineHeader[] = "kiln_machine_registers.h";
constexpr int kSocAddressBits = 40;
constexpr int kSocRequests = 8;  // PARTS of readers, OUTSTANDING of writers
constexpr uint32_t kFirstPlace = 0x100, kPlaceStride = 16, kFirstStreamCounter = 0x400,
                   kCounterStride = 8;

// A stream of the machine behind the splitter: its name and the bytes of a beat.
struct SocStream {
  std::string name;
  int bytes = 0;
};

struct SocStreams {
  std::vector<SocStream> in, out;
  std::vector<Bus> machine;  // the machine's streams
  std::vector<Bus> slaves;   // its registers
  std::vector<Bus> ports;    // its masters, without attributes

  // Returns all streams in the order of their numbers.
  std::vector<SocStream> all() const {
    std::vector<SocStream> streams = in;
    streams.insert(streams.end(), out.begin(), out.end());
    return streams;
  }
  static int BytesOf(const std::vector<SocStream>& streams) {
    int sum = 0;
    for (const SocStream& stream : streams) sum += stream.bytes;
    return sum;
  }
};

// Returns a stream's name in capitals.
std::string Capitals(std::string name) {
  for (char& c : name) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return name;
}

// Returns the name of the register with a stream's address: "IN0_ADDRESS".
std::string SocAddressName(const std::string& stream) { return Capitals(stream + "_ADDRESS"); }

SocStreams StreamsOf(const RtlProject& machine, int split) {
  SocStreams streams;
  for (const Bus& bus : machine.description->buses) {
    const Signal* const valid = FindSignal(bus, "tvalid");
    if (valid == nullptr) {
      const BusKind kind = BusKindOf(bus);
      KILN_CHECK(kind == BusKind::kAxiLite || kind == BusKind::kAxiRead);
      if (kind == BusKind::kAxiLite) {
        streams.slaves.push_back(bus);
        continue;
      }
      Bus& port = streams.ports.emplace_back(bus);
      for (const AxiAttribute& attribute : AttributesOf(bus))
        std::erase_if(port.signals,
                      [&](const Signal& signal) { return signal.name == attribute.signal.name; });
      continue;
    }
    streams.machine.push_back(bus);
    const int bytes = FindSignal(bus, "tdata")->bits / 8;
    if (!valid->output || split == 0) {
      (valid->output ? streams.out : streams.in).push_back({bus.name, bytes});
      continue;
    }
    for (int i = 0; i < split; ++i)
      streams.out.push_back({fmt::format("{}{}", bus.name, i), bytes});
  }
  KILN_CHECK(!streams.in.empty() && !streams.out.empty() && streams.slaves.size() <= 1);
  return streams;
}

std::vector<std::string> NamesOf(const std::vector<SocStream>& streams) {
  std::vector<std::string> names;
  for (const SocStream& stream : streams) names.push_back(stream.name);
  return names;
}

TopModule SocTop(const RtlProject& machine, const SocStreams& streams, int split, bool observed) {
  TopModule top;
  top.name = kTopName;
  top.comment =
      "The accelerator behind memory: its streams are read from memory and stored there. Emitted "
      "by Kiln.";
  const int in_count = static_cast<int>(streams.in.size()),
            out_count = static_cast<int>(streams.out.size()), count = in_count + out_count,
            in_bytes = SocStreams::BytesOf(streams.in),
            out_bytes = SocStreams::BytesOf(streams.out);
  const int id_bits = std::bit_width(static_cast<unsigned>(count - 1));
  top.buses = {{"control", AxiLiteSignals()},
               {"memory", AxiSignalsWithIds(kSocPortBytes, kSocAddressBits, id_bits)}};
  for (const Bus& slave : streams.slaves) top.buses.push_back({"machine", slave.signals});
  top.buses.insert(top.buses.end(), streams.ports.begin(), streams.ports.end());
  top.ports = {{true, 1, "irq"}};
  top.wires = {
      {"to",
       {{true, in_count, "tvalid"}, {true, in_count, "tready"}, {true, 8 * in_bytes, "tdata"}}},
      {"from",
       {{true, out_count, "tvalid"}, {true, out_count, "tready"}, {true, 8 * out_bytes, "tdata"}}}};

  constexpr const char* kStreamSignals[] = {"tvalid", "tready", "tdata"};
  Instance inner = {.module = machine.top, .name = "machine"};
  // The wires of one direction, and how much of them is connected.
  struct Side {
    const char* wires;
    int streams;
    int number = 0, bytes = 0;
  };
  Side to{"to", in_count}, from{"from", out_count};
  for (const Bus& bus : streams.machine) {
    const int bytes = FindSignal(bus, "tdata")->bits / 8;
    const bool out = FindSignal(bus, "tvalid")->output;
    if (out && split > 0) {
      top.wires.push_back(
          {"whole", {{true, 1, "tvalid"}, {true, 1, "tready"}, {true, 8 * bytes, "tdata"}}});
      Instance parts = {.module = "kiln_stream_split",
                        .name = "parts",
                        .parameters = {{"BEAT_BYTES", std::to_string(bytes)},
                                       {"STREAMS", std::to_string(split)}}};
      for (const char* const name : kStreamSignals) {
        const std::string whole = fmt::format("whole_{}", name);
        inner.connections.emplace_back(fmt::format("{}_{}", bus.name, name), whole);
        parts.connections.emplace_back(fmt::format("in_{}", name), whole);
        parts.connections.emplace_back(fmt::format("out_{}", name), fmt::format("from_{}", name));
      }
      top.instances.push_back(std::move(parts));
      continue;
    }
    // Behind memory, registers say how long a stream is.
    if (FindSignal(bus, "tlast") != nullptr)
      inner.connections.emplace_back(bus.name + "_tlast", "");
    Side& side = out ? from : to;
    const std::string index = side.streams == 1 ? "" : fmt::format("[{}]", side.number);
    const std::string data = fmt::format("[{}:{}]", 8 * (side.bytes + bytes) - 1, 8 * side.bytes);
    for (const char* const name : kStreamSignals) {
      inner.connections.emplace_back(fmt::format("{}_{}", bus.name, name),
                                     fmt::format("{}_{}{}", side.wires, name,
                                                 std::string_view(name) == "tdata" ? data : index));
    }
    ++side.number;
    side.bytes += bytes;
  }
  for (const Bus& slave : streams.slaves) {
    for (const Signal& signal : slave.signals)
      inner.connections.emplace_back(fmt::format("{}_{}", slave.name, signal.name),
                                     fmt::format("machine_{}", signal.name));
  }
  // The top has attributes of its own.
  for (const Bus& port : streams.ports) {
    for (const AxiAttribute& attribute : AttributesOf(port))
      inner.connections.emplace_back(fmt::format("{}_{}", port.name, attribute.signal.name), "");
  }
  for (const Signal& signal : machine.description->ports)
    inner.connections.emplace_back(signal.name, "");
  if (observed) {
    top.observed_comment = machine.description->observed_comment;
    top.observed = machine.description->observed;
  }
  for (const Signal& signal : machine.description->observed)
    inner.connections.emplace_back(signal.name, observed ? signal.name : "");
  top.instances.push_back(std::move(inner));

  std::vector<std::string> beats;
  for (const SocStream& stream : streams.all())
    beats.push_back(fmt::format("32'd{}", stream.bytes));
  std::ranges::reverse(beats);
  top.instances.push_back(
      {.module = "kiln_stream_memory",
       .name = "adapter",
       .parameters = {{"STREAMS_IN", std::to_string(in_count)},
                      {"STREAMS_OUT", std::to_string(out_count)},
                      {"BEAT_BYTES", fmt::format("{{{}}}", fmt::join(beats, ", "))},
                      {"TO_BYTES", std::to_string(in_bytes)},
                      {"FROM_BYTES", std::to_string(out_bytes)},
                      {"ADDRESS_BITS", std::to_string(kSocAddressBits)},
                      {"DATA_BYTES", std::to_string(kSocPortBytes)}}});
  return top;
}

// Where the streams of the sample are in memory, and the words of its run.
struct SampleLayout {
  std::vector<uint64_t> in, out;  // addresses
  std::vector<uint64_t> words;    // address and beats of each stream
  uint64_t constants = 0;         // address
  uint64_t bytes = 0;
};

SampleLayout LayOut(const StreamSample& sample, const SocStreams& streams,
                    const PortConstants& constants) {
  std::vector<StreamPlace> places;
  for (size_t i = 0; i < streams.in.size(); ++i) {
    const int bytes = streams.in[i].bytes;
    places.push_back({sample.run.InputOf(i).size() / static_cast<size_t>(bytes), bytes});
  }
  for (size_t i = 0; i < streams.out.size(); ++i)
    places.push_back({i < sample.beats.size() ? sample.beats[i] : 0, streams.out[i].bytes});
  SampleLayout layout;
  layout.constants = PlaceStreams(&places);
  layout.bytes = layout.constants + AlignUp(constants.bytes.size(), kStreamAlignment);
  for (size_t i = 0; i < places.size(); ++i) {
    (i < streams.in.size() ? layout.in : layout.out).push_back(places[i].address);
    layout.words.insert(layout.words.end(), {places[i].address, places[i].beats});
  }
  return layout;
}

// Returns the sample of the machine behind memory.
SampleRun InMemory(const SampleRun& streams, const SampleLayout& layout,
                   const PortConstants& constants) {
  SampleRun run;
  run.Write(layout.constants, constants.bytes);
  for (const PortConstants::Base& base : constants.bases)
    run.Place(kMachineRegisters + base.address, layout.constants + base.offset);
  if (!constants.bases.empty()) run.Set(kMachineRegisters + constants.start, 1);
  const auto bytes_of = [](std::string_view text) {
    return std::span(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  };
  for (size_t i = 0; i < layout.in.size(); ++i)
    run.Write(layout.in[i], bytes_of(streams.InputOf(i)));
  run.Run(layout.words);
  for (const SampleRun::Step& step : streams.steps()) {
    PlacedTensor tensor = step.tensor;
    tensor.base += layout.out.at(step.stream);
    run.Expect(tensor, bytes_of(streams.ExpectedOf(step.stream)).subspan(step.offset, step.bytes));
  }
  return run;
}

// Returns whether a file of the machine's project describes the design, rather than its simulation,
// its sample or what is sent to it.
bool IsOfDesign(const std::string& name, const PortConstants& constants) {
  if (name == constants.file || name == kLaunchConstants || name == kLaunchLoads) return true;
  return name.starts_with(fmt::format("{}/", kContentsFolder)) || name == "design.yaml" ||
         name == "program.txt" || name == "pipeline.txt";
}

// Says what the slave with the machine's own registers is for.
std::string MachineText(bool is_needed) {
  return fmt::format(
      "`machine_` is the AXI4-Lite slave with the registers of the machine itself, which "
      "`driver/{}` lists. {} Each of the two slaves counts its registers from 0, also in "
      "`component.xml`, and an interconnect may map each of them anywhere; `driver/` reaches "
      "`machine_` {} bytes above `control_`.\n\n",
      kMachineHeader,
      is_needed
          ? "Software needs it once after a reset, in step 0; it also says how many images "
            "have passed and how full channels were."
          : "It says how many images have passed, in how many cycles, and how full channels "
            "were. Runs do not need it: a system without use for it connects 0 to its inputs.",
      kMachineRegisters);
}

DesignGuide GuideOfSoc(const DesignGuide& machine, const RegisterMap& map,
                       const SocStreams& streams, const SampleLayout& layout, bool has_sample,
                       const PortConstants& constants, int split) {
  DesignGuide guide = machine;
  std::string rows;
  size_t number = 0;
  for (const SocStream& stream : streams.all()) {
    const uint32_t at = FindRegister(map, SocAddressName(stream.name)).address;
    rows += fmt::format("   | `{}` | {} | 0x{:03x}, 0x{:03x} | 0x{:03x} | 0x{:x} | {} |\n",
                        stream.name, stream.bytes, at, at + 4, at + 8, layout.words[2 * number],
                        layout.words[2 * number + 1]);
    ++number;
  }
  std::string first;
  if (!constants.bases.empty()) {
    first = fmt::format(
        "0. After a reset, load `{}` into memory, at any address that is a multiple of {}. Over\n"
        "   `machine`, whose registers `driver/` expects {} bytes above those of `control`, write "
        "the\n   addresses of its parts, low and high words, and then 1 to register 0x{:03x}:\n\n"
        "   | register of `machine` | offset in `{}` |\n   |---|---|\n",
        constants.file, kStreamAlignment, kMachineRegisters, constants.start, constants.file);
    for (const PortConstants::Base& base : constants.bases)
      first += fmt::format("   | 0x{:03x}, 0x{:03x} | {} |\n", base.address, base.address + 4,
                           base.offset);
    first += '\n';
  }
  guide.start = fmt::format(
      "This is the machine behind memory: its streams are read from memory and stored there, and "
      "software needs no DMA controller. "
      "`driver/`\ndoes these steps.\n\n{}"
      "1. Write the beats of the streams into memory, one after the other.\n"
      "2. Over `control`, write the address and the number of beats of every stream:\n\n"
      "   | stream | bytes of a beat | address (low, high) | beats | place in the sample's "
      "memory | beats in the sample |\n"
      "   |---|---|---|---|---|---|\n"
      "{}"
      "\n3. Write 1 to register 0x{:03x} (CONTROL). The run ends when all beats have been read "
      "or stored:\n   `irq` is high, and bit 1 of register 0x{:03x} (STATUS) is set. Write 1 to "
      "register 0x{:03x} (INTERRUPT) to\n   lower `irq`. Register 0x{:03x} (ERROR) is 0 if the "
      "run was good.\n"
      "4. Read the beats of the streams out of memory.\n\n"
      "Beats lie one after the other from any byte address on. The beats of several images or "
      "launches may go into one\nrun, whose numbers of beats are then the sums of theirs. They "
      "must be what the machine takes and\nsends: a run that names more beats out than the "
      "machine sends does not end, and after one that names fewer,\nERROR is 2 at the next beat. "
      "In both cases, and after surplus beats in, reset the machine.\n\n"
      "Registers take addresses of the machine's buses: the address at which they have the "
      "machine's memory, plus the place in that memory. All lists here, and `driver/`, count "
      "places from the beginning of the memory. The driver adds its address (`memory_bus` of "
      "`kiln_device`), by default the one at which the processor has the memory; "
      "`BUS_MEMORY=0x...` of `make -C driver bare` and `linux` names another one. `make sim "
      "MEMORY_BASE=0x80000000` simulates a system with the memory at that address, and with `-C "
      "driver` the driver on it.\n\n"
      "{}"
      "{}Tensors below are at positions in their streams, from the address of the stream on.",
      first, rows, FindRegister(map, "CONTROL").address, FindRegister(map, "STATUS").address,
      FindRegister(map, "INTERRUPT").address, FindRegister(map, "ERROR").address,
      split > 0 ? "The machine's one stream out is stored as several: the last byte of a beat is "
                  "the number of its\nstream.\n\n"
                : "",
      streams.slaves.empty() ? "" : MachineText(!constants.bases.empty()));
  const auto add = [&](const std::string& name, uint64_t value) {
    guide.constants.emplace_back(name, value);
  };
  number = 0;
  for (const SocStream& stream : streams.all()) {
    const std::string name = Capitals(stream.name);
    add(name + "_BEAT_BYTES", static_cast<uint64_t>(stream.bytes));
    add("SAMPLE_" + name + "_ADDRESS", layout.words[2 * number]);
    add("SAMPLE_" + name + "_BEATS", layout.words[2 * number + 1]);
    ++number;
  }
  if (!constants.bases.empty()) add("SAMPLE_WEIGHTS_ADDRESS", layout.constants);
  add("SAMPLE_MEMORY_BYTES", layout.bytes);
  guide.sample = has_sample ? "The sample is that of the machine without memory." : "";
  std::erase_if(guide.files, [&](const auto& file) { return !IsOfDesign(file.first, constants); });
  guide.bus_requests = fmt::format(
      "On `memory_`, each stream has its number as its ID, and at most {} requests in flight.{}",
      kSocRequests, machine.bus_requests.empty() ? "" : " " + machine.bus_requests);
  guide.figures =
      "All streams together move at most 16 bytes a cycle. Kiln's models have no figures of the "
      "machine with readers and writers; `kiln synth` measures an area.\n";
  guide.part = guide.part.empty() ? kSocFolder : guide.part + "_" + kSocFolder;
  return guide;
}

}  // namespace

uint64_t PlaceStreams(std::vector<StreamPlace>* streams) {
  uint64_t end = 0;
  for (StreamPlace& stream : *streams) {
    stream.address = end;
    const uint64_t bytes = stream.beats * static_cast<uint64_t>(stream.beat_bytes);
    end += AlignUp(std::max<uint64_t>(bytes, 1), kStreamAlignment);
  }
  return end;
}

std::vector<std::pair<uint32_t, uint32_t>> PortConstants::Writes(uint64_t address) const {
  std::vector<std::pair<uint32_t, uint32_t>> writes;
  for (const Base& base : bases) {
    const uint64_t place = address + base.offset;
    writes.emplace_back(kMachineRegisters + base.address, static_cast<uint32_t>(place));
    writes.emplace_back(kMachineRegisters + base.address + 4, static_cast<uint32_t>(place >> 32));
  }
  if (!bases.empty()) writes.emplace_back(kMachineRegisters + start, 1);
  return writes;
}

RegisterMap StreamRegisters(std::span<const std::string> in, std::span<const std::string> out) {
  const bool yes = true, no = false;
  RegisterMap map;
  map.machine = "a stream machine behind memory";
  map.page = "docs/driver.md";
  map.identity = 0x4b494c4e;  // "KILN"
  map.version = 0x00050000;
  map.registers = {
      {"IDENTITY", 0x000, yes, no, fmt::format("0x{:08x}, \"KILN\"", map.identity)},
      {"VERSION", 0x004, yes, no, fmt::format("of this map: 0x{:08x}", map.version)},
      {"CONTROL", 0x008, yes, yes, "", {{"START", 0, 0, "a 1 written starts a run; reads as 0"}}},
      {"STATUS",
       0x00c,
       yes,
       no,
       "",
       {{"RUNNING", 0, 0, "from the start until all beats have been read or stored"},
        {"ENDED", 1, 1, "from then until the next start"}}},
      {"ERROR",
       0x010,
       yes,
       no,
       "of the last run, 0: none",
       {},
       {{1, "bad_response", "memory answered with SLVERR or DECERR; lasts until the reset"},
        {2, "left_over", "the machine has sent more beats than the run named"}}},
      {"ERROR_STREAM", 0x014, yes, no, "number of the first stream with an error"},
      {"CYCLES", 0x018, yes, no, "of the last run", {}, {}, 2},
      {"STREAMS_IN", 0x020, yes, no, "number of streams into the machine, which come first"},
      {"STREAMS_OUT", 0x024, yes, no, "number of streams out of the machine"},
      {"INTERRUPT",
       0x028,
       yes,
       yes,
       "not writable during a run",
       {{"PENDING", 0, 0,
         "the interrupt line, high from the end of a run until a 1 is written here or the next "
         "run starts"}}}};
  uint32_t number = 0;
  for (const auto& names : {in, out}) {
    for (const std::string& name : names) {
      const uint32_t place = kFirstPlace + kPlaceStride * number,
                     counter = kFirstStreamCounter + kCounterStride * number;
      const std::string address = SocAddressName(name);
      const std::string beats = address.substr(0, address.rfind('_')) + "_BEATS";
      map.registers.push_back({address,
                               place,
                               yes,
                               yes,
                               fmt::format("byte address of the first beat of `{}`; not writable "
                                           "during a run",
                                           name),
                               {},
                               {},
                               2});
      map.registers.push_back(
          {beats, place + 8, yes, yes,
           fmt::format("number of beats of `{}`; not writable during a run", name)});
      map.counters.push_back(
          {name + ".busy", counter, 1, fmt::format("cycles in which a beat of `{}` passes", name)});
      map.counters.push_back({name + ".stalled", counter + 4, 1,
                              fmt::format("cycles in which a beat of `{}` waits", name)});
      map.control.program.insert(map.control.program.end(), {address, beats});
      ++number;
    }
  }
  map.control.has_bus_addresses = true;
  map.control.start = {"CONTROL", 1, 1};
  map.control.busy = {"STATUS", 1, 1};
  map.control.ended = {"STATUS", 2, 2};
  map.control.error = "ERROR";
  map.control.error_place = "ERROR_STREAM";
  map.control.cycles = "CYCLES";
  return map;
}

void AddSoc(const StreamSample& sample, int split, RtlProject* project, bool observed,
            const PortConstants& constants) {
  const SocStreams streams = StreamsOf(*project, split);
  RtlProject soc;
  soc.modules = project->modules;
  soc.modules.emplace_back(project->top, project->top_text);
  SetTop(SocTop(*project, streams, split, observed), &soc);
  soc.testbench = {"kiln_memory_testbench.cc", "kiln_axi_lite.h",         "kiln_axi_memory.h",
                   "kiln_memory_timing.h",     "kiln_simulate_options.h", "kiln_simulate_sample.h",
                   "kiln_simulate_session.h",  "kiln_simulate_wave.h"};
  for (const auto& file : project->others) {
    if (IsOfDesign(file.first, constants)) soc.others.push_back(file);
  }
  RegisterMap map = StreamRegisters(NamesOf(streams.in), NamesOf(streams.out));
  if (!streams.ports.empty()) map.bytes += kMachineRegisters;
  std::vector<std::string> addresses, counters;
  for (const std::string& name : map.control.program) {
    const Register& r = FindRegister(map, name);
    addresses.push_back(fmt::format("{{{}u, {}u}}", r.address, r.words));
  }
  for (const CounterRegister& counter : map.counters)
    counters.push_back(fmt::format("{{\"{}\", {}u}}", counter.name, counter.address));
  int most_bytes = 0;
  for (const SocStream& stream : streams.all()) most_bytes = std::max(most_bytes, stream.bytes);
  std::string idle;
  for (const Bus& slave : streams.slaves) {
    for (const Signal& signal : slave.signals) {
      if (!signal.output) idle += fmt::format("  top.machine_{} = 0;\n", signal.name);
    }
  }
  const std::vector<Signal>& shown = project->description->observed;
  const auto pushed = std::ranges::find(shown, "pushed", &Signal::name);
  const bool channels = observed && pushed != shown.end();
  const std::string watched = fmt::format(
      "constexpr unsigned kChannels = {};\n"
      "template <typename Top>\nconst void* Pushed(const Top& top) {{\n  return {};\n}}\n"
      "template <typename Top>\nconst void* Highest(const Top& top) {{\n  return {};\n}}\n",
      channels ? pushed->bits : 0, channels ? "&top.pushed" : "static_cast<void>(top), nullptr",
      channels ? "&top.highest" : "static_cast<void>(top), nullptr");
  // A machine with ports starts by registers of its own.
  std::string ports;
  for (const Bus& port : streams.ports)
    ports += fmt::format(" PORT({}, {})", port.name, FindSignal(port, "rdata")->bits / 8);
  std::string masters;
  if (!ports.empty()) {
    masters = fmt::format("#define KILN_PORTS(PORT){}\n#define KILN_MACHINE_REGISTERS {:#x}\n",
                          ports, kMachineRegisters);
  }
  soc.others.emplace_back(
      "design.h",
      fmt::format(
          "// Of the machine behind memory, for the testbench: its port, the widest beat "
          "of its streams,\n// the registers of a run (address, words), its counters "
          "(name, address), the inputs\n// of the machine's own registers, what it "
          "shows of its channels, its own ports (name,\n// bytes of a beat), and the address "
          "from which on the driver reaches its own registers.\n"
          "#include <cstdint>\n\n{}"
          "namespace kiln_design {{\n\nconstexpr unsigned kPortBytes = {}, "
          "kMostBeatBytes = {};\n"
          "constexpr struct {{\n  uint32_t address, words;\n}} kProgram[] = {{\n    {}}};\n"
          "constexpr struct {{\n  const char* name;\n  uint32_t address;\n}} kCounters[] = "
          "{{\n    {}}};\n"
          "template <typename Top>\nvoid IdleMachine(Top& top) {{\n  (void)top;\n{}}}\n{}"
          "\n}}  // namespace kiln_design\n",
          masters, kSocPortBytes, most_bytes, fmt::join(addresses, ",\n    "),
          fmt::join(counters, ",\n    "), idle, watched));
  const SampleLayout layout = LayOut(sample, streams, constants);
  SampleRun run;
  if (!sample.run.empty()) run = InMemory(sample.run, layout, constants);
  soc.places_memory = true;
  AddSample(run, "", &soc);
  if (run.empty()) {
    soc.simulation_arguments = "--help";
    run.Run(layout.words);  // of no beats
  }
  AddDriver(map, {.image = {}, .memory_bytes = layout.bytes, .sample = run}, &soc);
  if (!streams.slaves.empty() && project->registers.has_value()) {
    soc.more_registers = project->registers;
    soc.others.emplace_back(fmt::format("{}/{}", kDriverFolder, kMachineHeader),
                            RegisterHeader(*project->registers, "KILN_MACHINE"));
  }
  if (project->guide.has_value()) {
    soc.guide =
        GuideOfSoc(*project->guide, map, streams, layout, !sample.run.empty(), constants, split);
    project->guide->files[fmt::format("{}/", kSocFolder)] =
        "the same machine behind one AXI4 master, with registers and a driver in C";
  }
  project->soc = std::make_shared<RtlProject>(std::move(soc));
}

}  // namespace kiln::hardware
