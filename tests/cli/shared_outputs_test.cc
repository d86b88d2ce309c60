// Runs a detector and a super-resolution network of the shared folder, from the picture to the file
// of --outputs, and compares with outputs computed by ONNX Runtime.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "kiln/cli/application.h"
#include "kiln/frontend/data_named.h"
#include "kiln/frontend/npz_writer.h"
#include "kiln/frontend/onnx.h"
#include "kiln/support/file.h"
#include "tests/shared_folder.h"

namespace kiln::cli {
namespace {

class SharedOutputs : public testing::Test {
 protected:
  void SetUp() override {
    shared_ = SharedFolder();
    if (shared_.empty()) GTEST_SKIP() << "needs KILN_SHARED";
    const testing::TestInfo* info = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::temp_directory_path() /
              (std::string("kiln_shared_") + info->name() + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override {
    std::error_code error;
    if (!folder_.empty()) std::filesystem::remove_all(folder_, error);
  }

  // Runs `model` on `data`; the arrays of the outputs file are read by Read.
  void Run(const std::string& model, const std::filesystem::path& data,
           const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"run",       (shared_ / "models" / model).string(),
                                          "--data",    data.string(),
                                          "--outputs", (folder_ / "out.npz").string()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    std::ostringstream out, err;
    ASSERT_EQ(Main(arguments, out, err, false), 0) << err.str();
  }
  std::vector<float> Read(const std::string& output) const {
    const auto arrays = NamedArrays::Open(folder_ / "out.npz");
    EXPECT_TRUE(arrays.ok()) << arrays.status();
    const auto at = arrays->Find(output);
    EXPECT_TRUE(at.has_value()) << output;
    const auto set = arrays->Read(*at);
    EXPECT_TRUE(set.ok() && set->size() == 1 && set->element() == ElementType::kFloat32);
    return Floats(
        std::string(reinterpret_cast<const char*>(set->Image(0).data()), set->Image(0).size()));
  }
  static std::vector<float> Floats(const std::string& bytes) {
    std::vector<float> out(bytes.size() / sizeof(float));
    std::memcpy(out.data(), bytes.data(), out.size() * sizeof(float));
    return out;
  }
  std::vector<float> ReadBin(const std::string& file) const {
    return Floats(*ReadFile(shared_ / "data" / file));
  }

  std::filesystem::path shared_, folder_;
};

float MostDifference(const std::vector<float>& a, const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  float most = 0;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    most = std::max(most, std::fabs(a[i] - b[i]));
  return most;
}

struct Face {
  float score;
  std::array<float, 4> box;  // x0, y0, x1, y1
};

float Overlap(const Face& a, const Face& b) {
  const auto area = [](const std::array<float, 4>& box) {
    return std::max(0.0f, box[2] - box[0]) * std::max(0.0f, box[3] - box[1]);
  };
  const std::array<float, 4> common = {std::max(a.box[0], b.box[0]), std::max(a.box[1], b.box[1]),
                                       std::min(a.box[2], b.box[2]), std::min(a.box[3], b.box[3])};
  return area(common) / (area(a.box) + area(b.box) - area(common));
}

// Scores above 0.7, greedy suppression at an overlap of 0.3, as the network's authors do it.
std::vector<Face> FacesOf(const std::vector<float>& scores, const std::vector<float>& boxes) {
  std::vector<Face> all, kept;
  for (size_t i = 0; 2 * i + 1 < scores.size(); ++i) {
    if (scores[2 * i + 1] <= 0.7f) continue;
    all.push_back(
        {scores[2 * i + 1], {boxes[4 * i], boxes[4 * i + 1], boxes[4 * i + 2], boxes[4 * i + 3]}});
  }
  std::sort(all.begin(), all.end(), [](const Face& a, const Face& b) {
    return std::tie(b.score, b.box) < std::tie(a.score, a.box);
  });
  for (const Face& face : all) {
    if (std::none_of(kept.begin(), kept.end(),
                     [&](const Face& k) { return Overlap(face, k) > 0.3f; })) {
      kept.push_back(face);
    }
  }
  return kept;
}

TEST_F(SharedOutputs, TheDetectorFindsTheFaces) {
  const std::vector<float> scores = ReadBin("ultraface/face0_scores.bin"),
                           boxes = ReadBin("ultraface/face0_boxes.bin");
  const std::vector<Face> expected = FacesOf(scores, boxes);
  ASSERT_EQ(expected.size(), 5u);
  const auto picture = shared_ / "data/ultraface/face0_320x240.ppm";
  Run("ultraface_rfb320.onnx", picture,
      {"--level", "reference", "--preprocess", "mean=127,std=128"});
  if (HasFatalFailure()) return;
  EXPECT_LT(MostDifference(Read("scores"), scores), 2e-5f);
  EXPECT_LT(MostDifference(Read("boxes"), boxes), 2e-5f);

  Run("ultraface_rfb320.onnx", picture,
      {"--on", "systolic-int8-16x16", "--preprocess", "mean=127,std=128", "--cycle-limit", "0",
       "--no-fp32"});
  if (HasFatalFailure()) return;
  const std::vector<Face> found = FacesOf(Read("scores"), Read("boxes"));
  EXPECT_EQ(found.size(), expected.size());
  for (const Face& face : expected) {
    float best = 0;
    for (const Face& other : found) best = std::max(best, Overlap(face, other));
    EXPECT_GT(best, 0.7f) << "of the face at " << face.box[0] << ", " << face.box[1];
  }
}

TEST_F(SharedOutputs, SuperResolutionGivesThePicture) {
  // The tensors that come with the network; the input lacks the axes of batch and channel.
  const auto input = ImportOnnxTensor(
      *ReadFile(shared_ / "data/super_resolution/test_data_set_0/input_0.pb"), "in");
  const auto output = ImportOnnxTensor(
      *ReadFile(shared_ / "data/super_resolution/test_data_set_0/output_0.pb"), "out");
  ASSERT_TRUE(input.ok() && output.ok());
  NpzWriter writer(folder_ / "in.npz");
  ASSERT_TRUE(writer.AddTensor("input", input->Reshaped({1, 1, 224, 224})).ok());
  ASSERT_TRUE(writer.Finish().ok());
  Run("super_resolution_espcn3x.onnx", folder_ / "in.npz", {"--level", "reference"});
  if (HasFatalFailure()) return;
  EXPECT_LT(MostDifference(Read("output"), output->ToFloats()), 1e-5f);

  // Our own picture: its figure in the network's notes is 30.80 dB, borders of 8 pixels left out.
  const std::string pgm = *ReadFile(shared_ / "data/super_resolution/luma_672_reference.pgm");
  constexpr int kSide = 672, kBorder = 8;
  const std::string pixels = pgm.substr(pgm.size() - kSide * kSide);
  const auto psnr = [&] {
    const std::vector<float> values = Read("output");
    double error = 0;
    int64_t count = 0;
    for (int y = kBorder; y < kSide - kBorder; ++y) {
      for (int x = kBorder; x < kSide - kBorder; ++x, ++count) {
        const auto at = static_cast<size_t>(y * kSide + x);
        const double difference =
            std::clamp(values[at], 0.0f, 1.0f) - static_cast<uint8_t>(pixels[at]) / 255.0;
        error += difference * difference;
      }
    }
    return -10 * std::log10(error / static_cast<double>(count));
  };
  const auto picture = shared_ / "data/super_resolution/luma_224.pgm";
  Run("super_resolution_espcn3x.onnx", picture,
      {"--level", "reference", "--preprocess", "scale=1/255"});
  if (HasFatalFailure()) return;
  EXPECT_NEAR(psnr(), 30.80, 0.01);
  Run("super_resolution_espcn3x.onnx", picture,
      {"--on", "systolic-int8-16x16", "--preprocess", "scale=1/255", "--cycle-limit", "0",
       "--no-fp32"});
  if (HasFatalFailure()) return;
  // Uniform steps cost this network much (docs/accuracy.md): noise 25 dB below the picture beside
  // the network's own error.
  EXPECT_GT(psnr(), 26.5);
}

}  // namespace
}  // namespace kiln::cli
