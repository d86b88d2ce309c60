// Writes the generated files of the driver's folder: the steps of its example as a C table, and the
// assembly that includes their bytes.

#include "kiln/hardware/driver_folder.h"

#include <algorithm>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "kiln/support/check.h"

namespace kiln::hardware {
namespace {

constexpr char kInput[] = "kiln_sample_input", kExpected[] = "kiln_sample_expected",
               kImage[] = "kiln_image";

using Step = SampleRun::Step;

std::string FileIn(const std::string& name) { return fmt::format("{}/{}", kDriverFolder, name); }

// Returns the bytes at `offset` of an object in kiln_sample_data.S.
std::string DataAt(const std::string& object, size_t offset) {
  return offset == 0 ? object : fmt::format("{} + {}", object, offset);
}

// Returns the row of a step with bytes.
std::string BytesRow(const std::string& kind, const std::string& name, uint64_t address,
                     const std::string& data, size_t bytes) {
  return fmt::format("    {{{}, \"{}\",\n     {:#x}u, {}, {}u, {{{{0}}}}}},\n", kind, name, address,
                     data, bytes);
}

// Returns the row of a run. A register of two words takes its number's two halves.
std::string RunRow(const RegisterMap& map, const Step& step) {
  KILN_CHECK(step.words.size() == map.control.program.size());
  std::vector<std::string> words;
  for (size_t i = 0; i < step.words.size(); ++i) {
    const int halves = FindRegister(map, map.control.program[i]).words;
    KILN_CHECK(halves == 2 || step.words[i] >> 32 == 0);
    for (int half = 0; half < halves; ++half) {
      words.push_back(fmt::format("{:#x}u", static_cast<uint32_t>(step.words[i] >> (32 * half))));
    }
  }
  return fmt::format("    {{KILN_SAMPLE_RUN, \"program\", 0, NULL, 0, {{{{{}}}}}}},\n",
                     fmt::join(words, ", "));
}

// Returns whether a step of this kind has bytes.
bool Has(const SampleRun& sample, Step::Kind kind) {
  return std::ranges::any_of(sample.steps(), [&](const Step& step) { return step.kind == kind; });
}

std::string StepsText(const RegisterMap& map, const DriverExample& example) {
  std::string objects = fmt::format("extern const unsigned char {}[];\n", kImage);
  for (const auto& [kind, object] :
       {std::pair(Step::Kind::kWrite, kInput), std::pair(Step::Kind::kExpect, kExpected)}) {
    if (Has(example.sample, kind))
      objects += fmt::format("extern const unsigned char {}[];\n", object);
  }
  std::string rows;
  size_t offset = 0;
  for (const DriverExample::Part& part : example.image) {
    if (!part.bytes.empty()) {
      rows += BytesRow("KILN_SAMPLE_WRITE", part.name, part.address, DataAt(kImage, offset),
                       part.bytes.size());
    }
    offset += part.bytes.size();
  }
  for (const Step& step : example.sample.steps()) {
    switch (step.kind) {
      case Step::Kind::kWrite:
        rows += BytesRow("KILN_SAMPLE_WRITE", "input", step.address, DataAt(kInput, step.offset),
                         step.bytes);
        break;
      case Step::Kind::kSet:
        rows +=
            fmt::format("    {{KILN_SAMPLE_SET, \"register\", {:#x}u, NULL, {:#x}u, {{{{0}}}}}},\n",
                        step.address, step.value);
        break;
      case Step::Kind::kPlace:
        rows += fmt::format(
            "    {{KILN_SAMPLE_PLACE, \"address\", {:#x}u, NULL, {:#x}u, {{{{0}}}}}},\n",
            step.address, step.place);
        break;
      case Step::Kind::kRun:
        rows += RunRow(map, step);
        break;
      case Step::Kind::kExpect:
        rows += BytesRow("KILN_SAMPLE_EXPECT", step.name, step.address,
                         DataAt(kExpected, step.offset), step.bytes);
        break;
    }
  }
  return fmt::format(
      "/* The steps of the example. Emitted by Kiln. */\n#include \"kiln_sample.h\"\n\n"
      "/* kiln_sample_data.S */\n{}\n"
      "const uint64_t kiln_memory_bytes = {:#x}u;\n\n"
      "const kiln_sample_step kiln_sample_steps[] = {{\n{}}};\n"
      "const size_t kiln_sample_step_count = sizeof kiln_sample_steps / sizeof "
      "*kiln_sample_steps;\n",
      objects, example.memory_bytes, rows);
}

std::string DataText(const SampleRun& sample) {
  std::string text =
      "/* The bytes of the example, for GNU and LLVM assemblers. Emitted by Kiln. */\n"
      "  .section .rodata\n";
  const auto add = [&](const std::string& object, const std::string& file) {
    text += fmt::format("\n  .global {0}\n  .balign 16\n{0}:\n  .incbin \"{1}\"\n", object, file);
  };
  add(kImage, "image.bin");
  if (Has(sample, Step::Kind::kWrite)) add(kInput, fmt::format("../{}/input0.bin", kSampleFolder));
  if (Has(sample, Step::Kind::kExpect))
    add(kExpected, fmt::format("../{}/expected0.bin", kSampleFolder));
  return text + "\n#ifdef __ELF__\n  .section .note.GNU-stack, \"\", %progbits\n#endif\n";
}

}  // namespace

void AddRegisterHeader(const RegisterMap& map, RtlProject* project) {
  project->registers = map;
  project->others.emplace_back(FileIn("kiln_registers.h"), RegisterHeader(map));
}

void AddDriver(const RegisterMap& map, const DriverExample& example, RtlProject* project) {
  project->driver = {"Makefile",
                     "main.c",
                     "kiln_driver.h",
                     "kiln_driver.c",
                     "kiln_platform.h",
                     "kiln_platform_mapped.h",
                     "kiln_platform_bare.c",
                     "kiln_platform_linux.c",
                     "kiln_platform_simulation.c",
                     "kiln_sample.h"};
  std::string image;
  for (const DriverExample::Part& part : example.image)
    image.append(part.bytes.begin(), part.bytes.end());
  AddRegisterHeader(map, project);
  project->others.emplace_back(FileIn("kiln_sample.c"), StepsText(map, example));
  project->others.emplace_back(FileIn("kiln_sample_data.S"), DataText(example.sample));
  project->others.emplace_back(FileIn("image.bin"), std::move(image));
}

}  // namespace kiln::hardware
