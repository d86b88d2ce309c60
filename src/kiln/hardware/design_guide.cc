// Writes README.md from the description of a design and the names of its files.

#include "kiln/hardware/design_guide.h"

#include <absl/strings/ascii.h>
#include <absl/strings/str_replace.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "fmt/format.h"
#include "kiln/hardware/tool_names.h"
#include "kiln/support/markdown.h"

namespace kiln::hardware {
namespace {

// What the files hold that folders of all families have, in the order of the list. A name that ends
// in '/' is a folder with everything below it.
struct KnownFile {
  std::string_view name, what;
};
constexpr KnownFile kKnownFiles[] = {
    {"README.md", "this page"},
    {"design.yaml", "the design point, with every key"},
    {"program.txt", "the program as text"},
    {"kernels.txt", "the kernels of the network, with the cycles that the compiler estimates"},
    {"filelist.f", "the SystemVerilog files in an order in which tools can read them"},
    {"rtl/", "the modules of Kiln's library that the design needs"},
    {"Makefile", "`make lint`, `make sim`, `make waves`, `make synth`"},
    {"design.mk", "settings of the Makefile: the top module, the arguments of the simulation"},
    {"design.h", "constants of the design for the testbench"},
    {"testbench/", "the testbench in C++, which needs Verilator and nothing of Kiln"},
    {"sample/steps.txt", "the sample of `make sim`: what is sent, started and compared"},
    {"sample/", "the bytes that the sample sends, and the bytes that it expects"},
    {"memory/", "the contents of memories that the design reads with `$readmemh`"},
    {"synth.ys", "the Yosys script of `make synth`"},
    {"design.core", "a FuseSoC core: the files in order, targets `lint`, `sim` and `synth`"},
    {"component.xml", "an IP-XACT component (IEEE 1685-2014): buses, registers, ports, files"},
    {"vivado.tcl", "a Vivado script that synthesises the design or makes an IP of it"},
    {"design.xdc", "the constraint of the clock, for Vivado"},
    {"waivers.vlt", "the warnings of Verilator that the design does without, with reasons"},
    {"driver/kiln_registers.h",
     "the register map as a C header: addresses, fields and what they mean"},
    {"driver/kiln_machine_registers.h",
     "the registers of the bus `machine_` as a C header, with the prefix `KILN_MACHINE`"},
    {kTensorHeader, "addresses and sizes of inputs and outputs as a C header"},
    {"driver/", "a driver in C for the machine, with an example"},
    {"emitted.txt", "the files that Kiln wrote, for the next emission to this folder"},
};

// Returns a description of a file, and the name under which it is listed.
std::pair<std::string, std::string> Listed(const DesignGuide& guide, const std::string& top,
                                           const std::string& file) {
  if (const auto own = guide.files.find(file); own != guide.files.end()) return *own;
  if (file == top + ".sv") return {file, "the top module: its ports, and the machine inside"};
  for (const KnownFile& known : kKnownFiles) {
    if (file == known.name || (known.name.ends_with('/') && file.starts_with(known.name)))
      return {std::string(known.name), std::string(known.what)};
  }
  if (file.ends_with(".sv")) return {file, "a module that is written for this design"};
  return {file, ""};
}

// Escapes what would end a cell of a table.
std::string Cell(std::string text) {
  for (size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2)
    text.insert(at, "\\");
  return text;
}

std::string FilesTable(const DesignGuide& guide, const std::string& top,
                       std::span<const std::string> files) {
  std::string text = "| file | what it holds |\n|---|---|\n";
  std::set<std::string> listed;
  for (const std::string& file : files) {
    const auto [name, what] = Listed(guide, top, file);
    if (listed.insert(name).second) text += fmt::format("| `{}` | {} |\n", name, Cell(what));
  }
  return text;
}

std::string Distance(int64_t bits) {
  return bits % 8 == 0 ? fmt::format("{} B", bits / 8) : fmt::format("{} bits", bits);
}

// Returns the length of an axis and how far consecutive indices are apart: "49 (16 B apart)", or by
// digits of the index "64 (16 of 1 B apart, in 4 groups 784 B apart)".
std::string AxisText(const PlacedAxis& axis) {
  std::string text = axis.name.empty() ? "" : axis.name + " ", apart;
  text += fmt::format("{}", axis.count());
  for (const PlacedAxis::Digit& digit : axis.digits) {
    if (digit.count == 1) continue;
    const bool whole = digit.count == axis.count();
    if (whole) {
      apart = Distance(digit.stride_bits) + " apart";
    } else if (apart.empty()) {
      apart = fmt::format("{} of {} apart", digit.count, Distance(digit.stride_bits));
    } else {
      apart += fmt::format(", in {} groups {} apart", digit.count, Distance(digit.stride_bits));
    }
  }
  return apart.empty() ? text : fmt::format("{} ({})", text, apart);
}

// Returns the lengths of a tensor's axes, with their names if they have any: "1 x 28 x 28".
std::string ShapeText(const PlacedTensor& tensor) {
  std::string shape;
  for (const PlacedAxis& axis : tensor.axes) {
    shape += fmt::format("{}{}{}", shape.empty() ? "" : " x ",
                         axis.name.empty() ? "" : axis.name + " ", axis.count());
  }
  return shape;
}

// Returns a list of tensors: where each is, its axes, and how far elements are apart along each.
std::string TensorList(std::span<const PlacedTensor> tensors) {
  std::string text;
  for (const PlacedTensor& tensor : tensors) {
    std::string axes;
    for (const PlacedAxis& axis : tensor.axes) {
      const char* const between = axis.name.empty() ? " x " : ", ";
      axes += (axes.empty() ? "" : between) + AxisText(axis);
    }
    std::string item = fmt::format("`{}`: {}, {}; {} bytes from 0x{:x}", SampleName(tensor.name),
                                   tensor.format, axes, tensor.bytes(), tensor.base);
    if (!tensor.meaning.empty()) item += "; " + tensor.meaning;
    text += MarkdownItem(item + ".");
  }
  return text;
}

// Returns what the table of ports says of a bus.
std::string BusText(const Bus& bus) {
  const auto bits = [&](std::string_view name) {
    const Signal* const signal = FindSignal(bus, name);
    return signal == nullptr ? 0 : signal->bits;
  };
  const auto master = [&](std::string_view does, int data, int address) {
    return fmt::format("AXI4 master, {}, {} bits of data, {} of address", does, data, address);
  };
  switch (BusKindOf(bus)) {
    case BusKind::kAxiStream:
      return fmt::format(
          "AXI4-Stream, {}, {} bits{}", FindSignal(bus, "tvalid")->output ? "out" : "in",
          bits("tdata"),
          FindSignal(bus, "tlast") != nullptr ? "; TLAST with the last beat of an image" : "");
    case BusKind::kAxiLite:
      return fmt::format("AXI4-Lite slave, {} bits of data, {} of address", bits("wdata"),
                         bits("awaddr"));
    case BusKind::kAxi:
      return master("reads and writes", bits("rdata"), bits("araddr"));
    case BusKind::kAxiRead:
      return master("reads", bits("rdata"), bits("araddr"));
    case BusKind::kAxiWrite:
      return master("writes", bits("wdata"), bits("awaddr"));
  }
  return "";
}

// Returns what an interconnect must know of the AXI4 masters; nothing without any. These are the
// rules of rtl/bus, which kiln_axi_checker checks in every simulation.
std::string MasterText(const TopModule& top, const std::string& requests) {
  std::string beats, ids;
  for (const Bus& bus : top.buses) {
    const BusKind kind = BusKindOf(bus);
    if (kind == BusKind::kAxiLite || kind == BusKind::kAxiStream) continue;
    const Signal* data = FindSignal(bus, "rdata");
    if (data == nullptr) data = FindSignal(bus, "wdata");
    beats += fmt::format("{}`{}_` {}", beats.empty() ? "" : ", ", bus.name,
                         std::min(256, 4096 / (data->bits / 8)));
    if (const Signal* const id = FindSignal(bus, "arid"); id != nullptr) {
      ids += fmt::format(
          " `{}_` has IDs of {}: answers to different IDs may come in any order, data of reads "
          "also mixed.",
          bus.name, id->bits == 1 ? "1 bit" : fmt::format("{} bits", id->bits));
    }
  }
  if (beats.empty()) return "";
  return fmt::format(
      "\nAXI4 masters send bursts of the type INCR with beats as wide as the bus, at addresses "
      "that are multiples of a beat's bytes: there are no narrow transfers, and WSTRB is 0 for "
      "bytes of a beat that are not written. A burst does not cross a multiple of 4096 bytes; the "
      "most beats of a burst are {}. LOCK, QOS, REGION and USER do not exist: tie them to 0. A "
      "master without IDs takes its answers in the order of its requests.{}{}{} Simulations hold "
      "`reset` for 4 cycles.\n",
      beats, ids, requests.empty() ? "" : " ", requests);
}

// Returns the tables of ports and parameters.
std::string PortTables(const TopModule& top) {
  std::string text = "\n| port, or the prefix of a bus' signals | what it is |\n|---|---|\n";
  for (const Bus& bus : top.buses) text += fmt::format("| `{}_` | {} |\n", bus.name, BusText(bus));
  for (const Signal& port : top.ports) {
    const bool interrupt = std::string_view(port.name) == "irq";
    text += fmt::format("| `{}` | {}, {} |\n", port.name, port.output ? "output" : "input",
                        interrupt        ? "the interrupt, a level that is active high"
                        : port.bits == 1 ? "1 bit"
                                         : fmt::format("{} bits", port.bits));
  }
  for (const Signal& port : top.observed) {
    text += fmt::format("| `{}` | output, {} bit{}, for testbenches; a system leaves it open |\n",
                        port.name, port.bits, port.bits == 1 ? "" : "s");
  }
  const std::vector<TopParameter> parameters = ParametersOf(top);
  if (parameters.empty()) return text;
  text += "\nParameters, which a system may set:\n\n";
  for (const TopParameter& parameter : parameters) {
    text += MarkdownItem(fmt::format("`{}` ({} bits, default {}): {}.", parameter.name,
                                     parameter.bits, parameter.value, parameter.text));
  }
  return text;
}

// Returns the formula by which a stored number becomes a value: "(x / 255 - 0.286) / 0.353".
std::string FormulaOf(const InputPreprocess& preprocess) {
  const auto of = [](const std::vector<double>& numbers, const char* name) {
    return numbers.size() == 1 ? fmt::format("{}", numbers[0])
                               : fmt::format("{} of the channel", name);
  };
  std::string formula = "x";
  if (preprocess.multiply != 1) formula += fmt::format(" * {}", preprocess.multiply);
  if (preprocess.divide != 1) formula += fmt::format(" / {}", preprocess.divide);
  if (!preprocess.mean.empty()) formula += " - " + of(preprocess.mean, "mean");
  if (preprocess.std.empty()) return formula;
  return fmt::format("{} / {}", formula == "x" ? formula : "(" + formula + ")",
                     of(preprocess.std, "std"));
}

// Says how pixels become the values of the network's input.
std::string PreprocessText(const InputPreprocess& preprocess) {
  if (preprocess.text.empty()) {
    return "No preprocessing of the network's input is stated: how pixels, or other stored "
           "numbers, become its values is known where the network was trained.";
  }
  return fmt::format(
      "Preprocessing of the network's input: `{}`. The stored number x of an image, a pixel of 0 "
      "to 255, becomes the value {}. The format of the input says which code a value has; an "
      "integer code is rounded to the nearest one, ties to the even one, and limited to the codes "
      "of the format.",
      preprocess.text, FormulaOf(preprocess));
}

// Returns the table of launches, and for each launch what the host sends and receives.
std::string LaunchesText(const DesignGuide& guide) {
  std::string text = guide.launches_text + "\n\n| launch |", rule = "|---|";
  for (const auto& [name, number] : guide.launches[0].numbers) {
    text += fmt::format(" {} |", absl::StrReplaceAll(name, {{"_", " "}}));
    rule += "---|";
  }
  text += '\n' + rule + '\n';
  size_t i = 0;
  for (const LaunchGuide& launch : guide.launches) {
    text += fmt::format("| {} |", i++);
    for (const auto& [name, number] : launch.numbers) text += fmt::format(" {} |", number);
    text += '\n';
  }
  if (!guide.views.empty()) {
    text += "\nThese tensors only move the elements of others:\n\n";
    for (const std::string& view : guide.views) text += MarkdownItem(view);
  }
  i = 0;
  for (const LaunchGuide& launch : guide.launches) {
    text += fmt::format("\n### Launch {} of `{}`\n\n{}\n\nThe host sends:\n\n", i++,
                        SampleName(launch.kernel), launch.operation);
    for (const std::string& item : launch.reads) text += MarkdownItem(item);
    text += "\nThe host receives:\n\n";
    for (const std::string& item : launch.writes) text += MarkdownItem(item);
  }
  return text;
}

}  // namespace

std::string ReadmeOf(const DesignGuide& guide, const std::string& top, const TopModule* description,
                     const std::string& core, std::span<const std::string> files) {
  const auto has = [&](std::string_view file) {
    return std::ranges::find(files, file) != files.end();
  };
  const bool has_program = !guide.network.empty();
  std::string text = fmt::format("# {}: an accelerator of the family {}\n\n",
                                 SampleName(guide.design_point), guide.family);
  text += has_program
              ? fmt::format(
                    "Kiln compiled the network `{}` for this machine and wrote this folder. "
                    "It needs nothing of\nKiln: tools read it as it is, and it may be "
                    "moved.\n",
                    SampleName(guide.network))
              : "Kiln wrote this folder. It needs nothing of Kiln: tools read it as it is, and it "
                "may be\nmoved. It holds the machine without a program.\n";
  text +=
      "\n## Commands\n\n```sh\n"
      "make lint     # Verilator checks the design with all warnings\n";
  text += guide.sample.empty()
              ? "make sim      # builds build/simulate and runs it; build/simulate --help\n"
              : "make sim      # simulates the sample; the last line is PASS or FAIL\n";
  text +=
      "make waves    # the same, and writes build/waves.fst for GTKWave\n"
      "make synth    # Yosys maps the design to generic cells: build/synth.txt\n";
  if (!core.empty()) {
    text += fmt::format(
        "fusesoc --cores-root . run --target=sim {}\n"
        "vivado -mode batch -source vivado.tcl -tclargs synth xc7z020clg400-1    # or package\n",
        core);
  }
  text +=
      "```\n\n"
      "`make sim` needs Verilator 5, make, and clang++-19 or g++; `make synth` needs Yosys. With "
      "Kiln,\n`kiln synth FOLDER` maps the design to a cell library or an FPGA and measures area "
      "and slack.";
  text += core.empty() ? "\n"
                       : " `design.core` has the targets `lint`, `sim` and `synth` (with "
                         "`--part=PART`). FuseSoC and Vivado were not run on what Kiln writes.\n";
  if (has("driver/Makefile")) {
    text +=
        "\nThe driver in C (`driver/kiln_driver.h`) and its example, `driver/main.c`:\n\n```sh\n"
        "make -C driver sim    # runs the example on the simulation: PASS, or the first "
        "difference\n"
        "make -C driver linux  # builds it for Linux: driver/build/main_linux /dev/uio0\n"
        "make -C driver bare REGISTERS=0x40000000 MEMORY=0x80000000\n"
        "                      # compiles its objects for a processor without an operating system\n"
        "```\n\nREGISTERS is the address of the AXI4-Lite port as the processor sees it, MEMORY "
        "the address of the machine's memory as the processor sees it. The UIO device of Linux "
        "has the registers as map 0 and that memory, contiguous and reserved from the kernel, as "
        "map "
        "1; two physical addresses, as in `0xa0000000,0x70000000`, use /dev/mem instead. `CC=...` "
        "names the compiler of another processor.\n";
  }
  if (!guide.sample.empty()) {
    text += '\n' + guide.sample +
            " The expected bytes are the functional level's. The simulation prints\nits cycles, "
            "every counter by name, and `PASS`, or the first difference with its element, "
            "address,\nexpected and found value, then `FAIL`; its exit code is then 1.\n";
  }
  text += "\n## Files\n\n" + FilesTable(guide, top, files);
  text += fmt::format(
      "\n## Ports of `{}`\n\nAll signals are synchronous to the rising edge of `clock`. `reset` is "
      "synchronous and active\nhigh.\n",
      top);
  if (description != nullptr) {
    text += PortTables(*description);
    text += MasterText(*description, guide.bus_requests);
  }
  const bool based = description != nullptr && !description->based.empty();
  if (based) {
    text +=
        "\nA system that has the machine's memory at another address than 0 sets `MEMORY_BASE`, "
        "which the top adds to every address on its buses. All addresses in programs, in the lists "
        "below and in `driver/` stay the machine's own. `make sim MEMORY_BASE=0x80000000` "
        "simulates such a system, and with `-C driver` the driver on it.\n";
  }
  text += "\n## Start a run\n\n" + guide.start + '\n';
  if (has("driver/kiln_registers.h")) {
    text +=
        "\n`driver/kiln_registers.h` is the register map: the address, the fields and the meaning "
        "of every register.\n";
  }
  if (!guide.launches.empty()) text += "\n## Launches\n\n" + LaunchesText(guide);
  if (!guide.host.empty()) {
    text += "\n## Kernels of the host\n\n" + guide.host;
    if (!guide.host_reads.empty()) text += "\nThey read:\n\n" + TensorList(guide.host_reads);
    if (!guide.host_writes.empty()) text += "\nThey write:\n\n" + TensorList(guide.host_writes);
  }
  if (!guide.inputs.empty() || !guide.outputs.empty()) {
    text += "\n## Inputs and outputs\n";
    if (guide.preprocess.has_value()) text += '\n' + PreprocessText(*guide.preprocess) + '\n';
    if (!guide.layout.empty()) text += '\n' + guide.layout + '\n';
    if (!guide.inputs.empty())
      text += "\nInputs, which the host writes:\n\n" + TensorList(guide.inputs);
    if (!guide.outputs.empty())
      text += "\nOutputs, which the host reads:\n\n" + TensorList(guide.outputs);
  }
  if (!guide.figures.empty()) text += "\n## Figures\n\n" + guide.figures;
  text +=
      "\n## Licence\n\nKiln's files in this folder (`rtl/`, `testbench/`, `driver/` and what it "
      "wrote for this design) are under the Apache License, Version 2.0: "
      "http://www.apache.org/licenses/LICENSE-2.0. The network's weights are its owner's.\n";
  return ReflowMarkdown(text);
}

namespace {

// Returns a number as a C constant of the type double, which has a point or an exponent.
std::string DoubleText(double number) {
  std::string text = fmt::format("{}", number);
  if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
  return text;
}

// Returns a definition of numbers in braces, in lines of at most 100 columns.
std::string ListDefinition(const std::string& name, std::span<const double> numbers) {
  std::string text = fmt::format("#define {}_COUNT {}u\n#define {} {{", name, numbers.size(), name);
  std::string line;
  for (const double number : numbers) {
    const std::string item = DoubleText(number) + ',';
    if (!line.empty() && line.size() + item.size() > 95) {
      text += " \\\n  " + line;
      line.clear();
    }
    line += (line.empty() ? "" : " ") + item;
  }
  if (!line.empty()) line.pop_back();
  return text + " \\\n  " + line + "}\n";
}

// Returns how pixels become values, as a comment and as numbers.
std::string PreprocessConstants(const InputPreprocess& preprocess) {
  if (preprocess.text.empty())
    return "\n/* No preprocessing of the network's input is stated. */\n";
  std::string text = fmt::format(
      "\n/* Preprocessing of the network's input: {}.\n"
      " * The stored number x of an image becomes the value {}. */\n"
      "#define KILN_PREPROCESS_MULTIPLY {}\n#define KILN_PREPROCESS_DIVIDE {}\n",
      preprocess.text, FormulaOf(preprocess), DoubleText(preprocess.multiply),
      DoubleText(preprocess.divide));
  if (!preprocess.mean.empty()) text += ListDefinition("KILN_PREPROCESS_MEAN", preprocess.mean);
  if (!preprocess.std.empty()) text += ListDefinition("KILN_PREPROCESS_STD", preprocess.std);
  return text;
}

// Returns the numbers of the launches.
std::string LaunchConstants(std::span<const LaunchGuide> launches) {
  std::string text = fmt::format(
      "\n/* The launches of README.md, which says what the numbers are. */\n"
      "#define KILN_LAUNCHES {}u\n",
      launches.size());
  size_t i = 0;
  for (const LaunchGuide& launch : launches) {
    text += fmt::format("\n/* {} */\n", SampleName(launch.kernel));
    const std::string prefix = fmt::format("KILN_LAUNCH_{}_", i++);
    for (const auto& [name, number] : launch.numbers)
      text += fmt::format("#define {}{} {}u\n", prefix, absl::AsciiStrToUpper(name), number);
    for (const auto& [name, numbers] : launch.lists)
      text += ListDefinition(prefix + absl::AsciiStrToUpper(name), numbers);
  }
  return text;
}

}  // namespace

bool HasTensorHeader(const DesignGuide& guide) {
  const bool tensors = !guide.inputs.empty() || !guide.outputs.empty();
  return !guide.launches.empty() || (tensors && guide.places != DesignGuide::Places::kBeats);
}

std::string TensorHeader(const DesignGuide& guide) {
  const bool beats = guide.places == DesignGuide::Places::kBeats,
             streams = guide.places == DesignGuide::Places::kStreams;
  std::string text = fmt::format(
      "/* {}. Emitted by Kiln. C99. */\n"
      "#ifndef KILN_TENSORS_H\n#define KILN_TENSORS_H\n",
      beats     ? "What a run needs"
      : streams ? "Inputs and outputs in the machine's streams"
                : "Inputs and outputs in the machine's memory");
  if (!guide.constants.empty()) text += "\n/* Numbers that a run needs. */\n";
  for (const auto& [name, value] : guide.constants)
    text += fmt::format("#define KILN_{} {:#x}u\n", name, value);
  if (guide.preprocess.has_value()) text += PreprocessConstants(*guide.preprocess);
  if (!guide.launches.empty()) text += LaunchConstants(guide.launches);
  std::set<std::string> taken;
  const auto add = [&](std::string_view kind, std::span<const PlacedTensor> tensors) {
    for (const PlacedTensor& tensor : tensors) {
      const std::string plain =
          fmt::format("KILN_{}_{}", kind, absl::AsciiStrToUpper(PlainName(tensor.name)));
      std::string name = plain;
      for (int n = 2; !taken.insert(name).second; ++n) name = fmt::format("{}_{}", plain, n);
      text += fmt::format("\n/* {}: {}, {}{}{} */\n#define {}_{} {:#x}u\n#define {}_BYTES {}u\n",
                          SampleName(tensor.name), tensor.format, ShapeText(tensor),
                          tensor.meaning.empty() ? "" : "; ", tensor.meaning, name,
                          streams ? "OFFSET" : "ADDRESS", tensor.base, name, tensor.bytes());
      if (tensor.scales.size() == 1 && tensor.offsets.empty()) {
        text += fmt::format("#define {}_SCALE {}\n#define {}_ZERO_POINT {}\n", name,
                            DoubleText(tensor.scales[0]), name,
                            tensor.zero_point < 0 ? fmt::format("({})", tensor.zero_point)
                                                  : std::to_string(tensor.zero_point));
      } else if (!tensor.scales.empty()) {
        text += ListDefinition(name + "_SCALES", tensor.scales);
        if (!tensor.offsets.empty()) text += ListDefinition(name + "_OFFSETS", tensor.offsets);
      }
    }
  };
  if (!beats) {
    add("INPUT", guide.inputs);
    add("OUTPUT", guide.outputs);
  }
  return text + "\n#endif /* KILN_TENSORS_H */\n";
}

}  // namespace kiln::hardware
