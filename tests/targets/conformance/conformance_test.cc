#include "tests/targets/conformance/conformance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <tuple>

#include "kiln/ir/random_graph.h"
#include "kiln/targets/registry.h"
#include "tests/targets/conformance/cases.h"
#include "tests/targets/conformance/prepare.h"

namespace kiln::conformance {

std::vector<Family>& Families() {
  static auto* families = new std::vector<Family>;
  return *families;
}

std::vector<std::string> NamesOfFamilies() {
  std::vector<std::string> names;
  for (const Family& family : Families()) names.push_back(family.name);
  return names;
}

std::vector<std::string> SomeDesignPoints() {
  std::vector<std::string> files;
  for (const Family& family : Families()) {
    files.push_back(family.design_points.front().file);
    if (family.design_points.size() > 1) files.push_back(family.design_points.back().file);
  }
  return files;
}

namespace {

const Exception* Find(const std::vector<Exception>& rows, const std::string& name) {
  for (const Exception& row : rows) {
    if (MatchesGlob(row.cases, name)) return &row;
  }
  return nullptr;
}

double RelativeError(const std::vector<Tensor>& got, const std::vector<Tensor>& want) {
  double error = 0, power = 0;
  EXPECT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    EXPECT_EQ(got[i].shape(), want[i].shape());
    if (!(got[i].shape() == want[i].shape())) return 1e9;
    for (int64_t k = 0; k < want[i].size(); ++k) {
      const double difference = got[i].ValueAt(k) - want[i].ValueAt(k);
      error += difference * difference;
      power += want[i].ValueAt(k) * want[i].ValueAt(k);
    }
  }
  return std::sqrt(error / std::max(power, 1e-30));
}

// The bytes that a family counts from the program include those that the units of the cycle level
// read (some machines fetch instructions or scales outside of their units) and, without scales, are
// those that the units write. The cycles in which a unit works on the kernels are the unit's busy
// cycles.
void CheckTraffic(const Accelerator& accelerator, const Program& program, const Trace& trace) {
  const auto traffic = accelerator.EstimateTraffic(program);
  if (!traffic.ok()) {
    EXPECT_THAT(MessageOf(traffic.status()), testing::HasSubstr("does not count bytes by kernel"));
    return;
  }
  ASSERT_EQ(traffic->bytes.size(), program.kernels().size());
  int64_t counted_read = 0, counted_written = 0, read = 0, written = 0;
  const int64_t times = traffic->RunsFor(trace.images);
  for (size_t k = 0; k < traffic->bytes.size(); ++k) {
    counted_read += times * traffic->BytesRead(k);
    for (size_t p = 0; p < traffic->ports.size(); ++p) {
      const MemoryPort& port = traffic->ports[p];
      if (port.writes && !port.moves_scales) counted_written += times * traffic->bytes[k][p];
    }
    if (program.kernels()[k].on_host()) {
      EXPECT_EQ(traffic->BytesRead(k), 0);
    }
  }
  for (const UnitTrace& unit : trace.units) {
    read += unit.bytes_read;
    written += unit.bytes_written;
  }
  if (read == 0 && written == 0) {
    // Of pipelines, whose units do not count bytes, it is known only that some move.
    const bool on_host = std::ranges::all_of(program.kernels(), &KernelInfo::on_host);
    EXPECT_EQ(on_host, counted_read == 0) << program.Print();
    EXPECT_EQ(on_host, counted_written == 0) << program.Print();
  } else {
    EXPECT_GE(counted_read, read) << program.Print();
    EXPECT_EQ(counted_written, written) << program.Print();
  }
  for (size_t u = 0; u < trace.units.size(); ++u) {
    int64_t busy = 0;
    for (const KernelTrace& kernel : trace.kernels)
      busy += u < kernel.busy_cycles.size() ? kernel.busy_cycles[u] : 0;
    EXPECT_EQ(busy, trace.units[u].busy_cycles) << trace.units[u].name;
  }
}

// Functional and cycle on one and on several threads: the same bits everywhere, the same cycles at
// the cycle level.
std::vector<Tensor> CheckLevels(const Accelerator& accelerator, const Program& program,
                                const Batch& batch) {
  const auto functional = RunAt(accelerator, program, batch, Level::kFunctional, 1);
  EXPECT_TRUE(functional.ok()) << functional.status();
  if (!functional.ok()) return {};
  const auto cycle = RunAt(accelerator, program, batch, Level::kCycle, 1);
  EXPECT_TRUE(cycle.ok()) << cycle.status();
  if (!cycle.ok()) return {};
  EXPECT_TRUE(cycle->codes == functional->codes) << program.Print();
  EXPECT_TRUE(cycle->outputs == functional->outputs);

  const auto functional3 = RunAt(accelerator, program, batch, Level::kFunctional, 3);
  const auto cycle3 = RunAt(accelerator, program, batch, Level::kCycle, 3);
  EXPECT_TRUE(functional3.ok() && functional3->codes == functional->codes);
  EXPECT_TRUE(cycle3.ok() && cycle3->codes == cycle->codes);
  EXPECT_EQ(cycle3->cycles_per_image, cycle->cycles_per_image);
  EXPECT_EQ(cycle->cycles_per_image.size(), static_cast<size_t>(batch.images()));
  EXPECT_EQ(cycle->cycles_per_image[0], cycle->trace.cycles);
  CheckTraffic(accelerator, program, cycle->trace);
  return functional->outputs;
}

// (family, design point)
class EveryFamily : public testing::TestWithParam<std::tuple<std::string, std::string>> {
 protected:
  const Family& family() const {
    for (const Family& f : Families()) {
      if (f.name == std::get<0>(GetParam())) return f;
    }
    KILN_CHECK(false);
    return Families().front();
  }
  const DesignPoint& point() const {
    for (const DesignPoint& p : family().design_points) {
      if (p.file == std::get<1>(GetParam())) return p;
    }
    KILN_CHECK(false);
    return family().design_points.front();
  }
};

std::vector<std::tuple<std::string, std::string>> DesignPoints() {
  std::vector<std::tuple<std::string, std::string>> all;
  for (const Family& family : Families()) {
    for (const DesignPoint& point : family.design_points) all.emplace_back(family.name, point.file);
  }
  return all;
}

TEST_P(EveryFamily, RunsEveryCaseOrSaysWhyNot) {
  const auto accelerator = Load(std::get<1>(GetParam()));
  ASSERT_NE(accelerator, nullptr);
  std::set<const Exception*> used;
  for (const Case& c : AllCases()) {
    SCOPED_TRACE(c.name);
    const Prepared p = Prepare(c.build(), 11, family(), point());
    const Exception* never = Find(family().never, c.name);
    if (never == nullptr) never = Find(point().never, c.name);
    const Exception* not_yet = Find(family().not_yet, c.name);
    used.insert(never);
    used.insert(not_yet);

    const auto program = accelerator->Compile(p.quantised, {});
    ASSERT_TRUE(program.ok()) << program.status();
    const std::vector<Tensor> outputs = CheckLevels(*accelerator, **program, p.batch);
    ASSERT_FALSE(outputs.empty());
    EXPECT_LE(RelativeError(outputs, p.reference), c.tolerance * point().tolerance)
        << (*program)->Print();

    std::string on_host;
    for (const KernelInfo& kernel : (*program)->kernels()) {
      if (!kernel.on_host()) continue;
      on_host += kernel.name + " (" + kernel.host_reason + ") ";
    }
    CompileOptions strict;
    strict.host_fallback = false;
    const auto without_host = accelerator->Compile(p.quantised, strict);
    if (never == nullptr && not_yet == nullptr) {
      EXPECT_EQ(on_host, "")
          << "runs on the host; list the case under never or not_yet with the reason";
      EXPECT_TRUE(without_host.ok()) << without_host.status();
    } else {
      EXPECT_NE(on_host, "") << "has begun to run on the accelerator: take its row out ("
                             << (never ? never : not_yet)->reason << ")";
      ASSERT_FALSE(without_host.ok());
      EXPECT_NE(MessageOf(without_host.status()).find("node '"), std::string::npos)
          << without_host.status();
    }
  }
  for (const auto* rows : {&family().never, &family().not_yet, &point().never}) {
    for (const Exception& row : *rows)
      EXPECT_TRUE(used.count(&row)) << "no case matches '" << row.cases << "'";
  }
}

TEST_P(EveryFamily, LevelsAgreeOnRandomGraphs) {
  const auto accelerator = Load(std::get<1>(GetParam()));
  ASSERT_NE(accelerator, nullptr);
  const uint64_t graphs = point().is_int8() ? 150 : 40;
  for (uint64_t seed = 0; seed < graphs; ++seed) {
    SCOPED_TRACE("random graph " + std::to_string(seed));
    Graph graph = RandomGraph(seed);
    // Results are joined along the leading axis of images, which some random graphs do away with.
    const auto one_image = [](const Value* output) {
      return output->shape().rank() > 0 && output->shape()[0] == 1;
    };
    if (!std::all_of(graph.outputs().begin(), graph.outputs().end(), one_image)) continue;
    const Prepared p = Prepare(std::move(graph), seed, family(), point());
    if (testing::Test::HasFailure()) return;
    const auto program = accelerator->Compile(p.quantised, {});
    ASSERT_TRUE(program.ok()) << program.status();
    CheckLevels(*accelerator, **program, p.batch);
    if (testing::Test::HasFailure()) return;
  }
}

// A family that can change its number formats gives a design point that reads back, or the reason.
TEST_P(EveryFamily, OtherFormatsGiveADesignPointOrAReason) {
  const auto accelerator = Load(std::get<1>(GetParam()));
  ASSERT_NE(accelerator, nullptr);
  for (const auto& [activations, weights] :
       std::vector<std::pair<std::string, std::string>>{{"int8", "int4"},
                                                        {"mxint8", "mxint8"},
                                                        {"mxfp8_e5m2", "mxfp4"},
                                                        {"e5m2", "e4m3"},
                                                        {"bf16", "nf4"}}) {
    const auto variant =
        accelerator->WithFormats(*FindQuantType(activations), *FindQuantType(weights));
    if (!variant.ok()) {
      EXPECT_EQ(variant.status().code(), StatusCode::kUnimplemented) << variant.status();
      continue;
    }
    const std::string text = (*variant)->Describe();
    const auto again = ParseAccelerator(text, "described.yaml");
    ASSERT_TRUE(again.ok()) << again.status() << "\n" << text;
    EXPECT_EQ((*again)->Describe(), text);
    EXPECT_NE(text, accelerator->Describe());
    EXPECT_EQ((*variant)->PeakMacsPerCycle(), accelerator->PeakMacsPerCycle());
  }
}

TEST_P(EveryFamily, DesignPointReadsBackTheSame) {
  const auto accelerator = Load(std::get<1>(GetParam()));
  ASSERT_NE(accelerator, nullptr);
  EXPECT_EQ(accelerator->family(), family().name);
  const std::string text = accelerator->Describe();
  const auto again = ParseAccelerator(text, "described.yaml");
  ASSERT_TRUE(again.ok()) << again.status() << "\n" << text;
  EXPECT_EQ((*again)->Describe(), text);
  EXPECT_GT(accelerator->PeakMacsPerCycle(), 0);
  EXPECT_FALSE(accelerator->ActivationFormats().empty());
  EXPECT_FALSE(accelerator->WeightFormats().empty());
}

// Anything but one clear error naming file and key would be a fault.
TEST_P(EveryFamily, RefusesUnknownKeys) {
  const auto accelerator = Load(std::get<1>(GetParam()));
  ASSERT_NE(accelerator, nullptr);
  const auto bad = ParseAccelerator(accelerator->Describe() + "\nno_such_key: 3\n", "bad.yaml");
  ASSERT_FALSE(bad.ok());
  EXPECT_NE(MessageOf(bad.status()).find("bad.yaml"), std::string::npos) << bad.status();
  EXPECT_NE(MessageOf(bad.status()).find("no_such_key"), std::string::npos) << bad.status();
}

TEST_P(EveryFamily, RefusesInputsOfTheWrongShape) {
  const auto accelerator = Load(std::get<1>(GetParam()));
  ASSERT_NE(accelerator, nullptr);
  const Prepared p = Prepare(AllCases().front().build(), 11, family(), point());
  const auto program = accelerator->Compile(p.quantised, {});
  ASSERT_TRUE(program.ok()) << program.status();
  for (const Level level : {Level::kFunctional, Level::kCycle}) {
    Batch wrong;
    wrong.inputs.emplace_back(ElementType::kFloat32, Shape{2, 3, 5, 5});
    const auto result = RunAt(*accelerator, **program, wrong, level, 1);
    ASSERT_FALSE(result.ok());
    EXPECT_NE(MessageOf(result.status()).find("2x3x5x5"), std::string::npos) << result.status();
    Batch none;
    EXPECT_FALSE(RunAt(*accelerator, **program, none, level, 1).ok());
  }
}

std::string NameOfPoint(const testing::TestParamInfo<std::tuple<std::string, std::string>>& info) {
  std::string name = std::filesystem::path(std::get<1>(info.param)).stem().string();
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Conformance, EveryFamily, testing::ValuesIn(DesignPoints()), NameOfPoint);

// Every family of the build has joined.
TEST(Conformance, EveryFamilyHasJoined) {
  std::set<std::string> joined;
  for (const Family& family : Families()) {
    joined.insert(family.name);
    EXPECT_NE(family.random.levels, nullptr) << family.name << " has no random programs";
    EXPECT_NE(family.random.hardware, nullptr) << family.name << " has no random programs";
  }
  for (const std::string& name : FamilyNames()) EXPECT_TRUE(joined.count(name)) << name;
}

}  // namespace
}  // namespace kiln::conformance
