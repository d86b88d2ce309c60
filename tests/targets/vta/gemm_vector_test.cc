#include "kiln/targets/vta/isa/gemm_vector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "fmt/format.h"
#include "kiln/support/random.h"
#include "kiln/targets/vta/run/run_vector.h"

namespace kiln::vta {
namespace {

using testing::HasSubstr;

struct Sizes {
  size_t batch = 1, block_in = 16, block_out = 16;
};

// A GEMM instruction over random buffers, and the sums that it leaves, in the plainest way.
class OneGemm {
 public:
  explicit OneGemm(const Sizes& sizes, bool reset = false) : sizes_(sizes) {
    Random random(7);
    const auto fill = [&](size_t count, size_t length, int64_t most) {
      std::vector<std::vector<int64_t>> elements(count, std::vector<int64_t>(length));
      for (auto& element : elements) {
        for (int64_t& number : element)
          number = static_cast<int64_t>(random.Below(2 * most)) - most;
      }
      return elements;
    };
    inputs_ = fill(12, sizes.batch * sizes.block_in, 128);
    weights_ = fill(6, sizes.block_out * sizes.block_in, 128);
    before_ = fill(20, sizes.batch * sizes.block_out, int64_t{1} << 31);
    after_ = before_;
    // dst + 6 outer + inner, src + 4 outer + 2 inner, weight + outer + inner, by micro-ops 1 and 2
    // of four.
    for (size_t outer = 0; outer < 3; ++outer) {
      for (size_t inner = 0; inner < 2; ++inner) {
        for (size_t u = 1; u < 3; ++u) {
          Step(kUops[u][0] + 6 * outer + inner, kUops[u][1] + 4 * outer + 2 * inner,
               kUops[u][2] + outer + inner, reset);
        }
      }
    }
    json = {{"inst",
             {{"reset", reset ? "1" : "0"},
              {"uop_begin", "0001"},
              {"uop_end", "0003"},
              {"lp_0", "3"},
              {"lp_1", "0002"},
              {"acc_0", "006"},
              {"acc_1", "001"},
              {"inp_0", "004"},
              {"inp_1", "002"},
              {"wgt_0", "001"},
              {"wgt_1", "001"}}},
            {"inp", Written(inputs_, 8)},
            {"wgt", Written(weights_, 8)},
            {"acc_i", Written(before_, 32)},
            {"acc_o", Written(after_, 32)}};
    std::vector<std::vector<int64_t>> uops;
    for (const auto& uop : kUops) uops.emplace_back(uop.begin(), uop.end());
    json["uop"] = Written(uops, 32);
  }

  StatusOr<ProgramVector> Read() const { return ParseGemmVector(json, "one.json"); }
  std::string Error() const { return MessageOf(Read().status()); }

  Json json;

 private:
  static constexpr std::array<std::array<int64_t, 3>, 4> kUops = {
      {{9, 9, 9}, {1, 0, 0}, {5, 1, 2}, {9, 9, 9}}};

  void Step(size_t accumulator, size_t input, size_t weight, bool reset) {
    for (size_t b = 0; b < sizes_.batch; ++b) {
      for (size_t o = 0; o < sizes_.block_out; ++o) {
        int64_t& sum = after_[accumulator][b * sizes_.block_out + o];
        for (size_t i = 0; i < sizes_.block_in; ++i) {
          sum +=
              inputs_[input][b * sizes_.block_in + i] * weights_[weight][o * sizes_.block_in + i];
        }
        if (reset) sum = 0;
      }
    }
  }

  static Json Written(const std::vector<std::vector<int64_t>>& elements, int bits) {
    Json list = Json::array();
    for (size_t i = 0; i < elements.size(); ++i) {
      Json vec = Json::array();
      for (const int64_t number : elements[i]) {
        vec.push_back(fmt::format(
            "{:0{}x}", static_cast<uint64_t>(number) & ((uint64_t{1} << bits) - 1), bits / 4));
      }
      list.push_back({{"idx", fmt::format("{:08x}", i)}, {"vec", std::move(vec)}});
    }
    return list;
  }

  const Sizes sizes_;
  std::vector<std::vector<int64_t>> inputs_, weights_, before_, after_;
};

TEST(VtaGemmVector, PassesAtBothLevels) {
  for (const Sizes& sizes :
       {Sizes{1, 16, 16}, Sizes{2, 16, 16}, Sizes{4, 8, 16}, Sizes{1, 32, 16}, Sizes{1, 2, 2}}) {
    for (const bool reset : {false, true}) {
      const auto vector = OneGemm(sizes, reset).Read();
      ASSERT_TRUE(vector.ok()) << vector.status();
      EXPECT_EQ(vector->config.batch, static_cast<int>(sizes.batch));
      EXPECT_EQ(vector->config.block_in, static_cast<int>(sizes.block_in));
      EXPECT_EQ(vector->config.block_out, static_cast<int>(sizes.block_out));
      for (uint64_t order = 0; order < 8; ++order)
        EXPECT_EQ(FindDifference(*vector, order), std::nullopt);
      EXPECT_EQ(FindCycleDifference(*vector, 100000, nullptr, nullptr), std::nullopt);
    }
  }
}

// The instruction reaches micro-ops, inputs, weights and every byte of the sums.
TEST(VtaGemmVector, WhatIsWrongIsNamed) {
  for (const int byte : {0, 1, 2, 3}) {
    OneGemm one(Sizes{});
    Json& number = one.json["acc_o"][7]["vec"][5];
    number = fmt::format("{:08x}",
                         std::stoul(number.get<std::string>(), nullptr, 16) ^ (1U << (8 * byte)));
    EXPECT_THAT(FindDifference(*one.Read(), 0).value_or(""),
                HasSubstr(fmt::format("byte {} of acc_o[7].vec[5] is 0x", byte)));
  }
  for (const char* buffer : {"uop", "inp", "wgt", "acc_i"}) {
    OneGemm one(Sizes{});
    one.json[buffer][2]["vec"][0] = "01";
    EXPECT_NE(FindDifference(*one.Read(), 0), std::nullopt) << buffer;
  }
  OneGemm one(Sizes{});
  one.json["inst"]["inp_0"] = "3ff";  // 1023 and 2046 beyond: more than the buffer holds
  one.json["inst"]["inp_1"] = "3ff";
  EXPECT_THAT(FindDifference(*one.Read(), 0).value_or(""), HasSubstr("sram_range"));
}

TEST(VtaGemmVector, ErrorsNameFileAndKey) {
  const auto with = [](const Json::json_pointer& at, const Json& value) {
    OneGemm one(Sizes{});
    one.json[at] = value;
    return one.Error();
  };
  EXPECT_EQ(with("/inp/3/vec/2"_json_pointer, "g1"),
            "one.json: key 'inp[3].vec[2]': \"g1\" is no such number; hex digits of 8 bits");
  EXPECT_THAT(with("/wgt/0/vec/0"_json_pointer, "100"),
              HasSubstr("key 'wgt[0].vec[0]': \"100\" is no such number"));
  EXPECT_THAT(with("/acc_i/0/vec/0"_json_pointer, 3),
              HasSubstr("key 'acc_i[0].vec[0]': 3 is no such number"));
  EXPECT_THAT(with("/uop/1/idx"_json_pointer, "2"),
              HasSubstr("key 'uop[1].idx': \"2\" is out of order; 1"));
  EXPECT_THAT(with("/uop/0/vec"_json_pointer, Json::array({"0", "0"})), HasSubstr("key 'uop"));
  EXPECT_THAT(with("/inp/1/vec"_json_pointer, Json::array()),
              HasSubstr("key 'inp[1].vec': has 0 numbers"));
  EXPECT_THAT(with("/inp"_json_pointer, Json::array()), HasSubstr("key 'inp': is empty"));
  EXPECT_THAT(with("/inst/lp_0"_json_pointer, "x"), HasSubstr("key 'inst.lp_0'"));
  EXPECT_THAT(with("/inst/lp_0"_json_pointer, "ffffffff"), HasSubstr("key 'inst'"));
  EXPECT_THAT(with("/inst/uop_end"_json_pointer, "5"),
              HasSubstr("key 'inst.uop_end': runs micro-ops 1 to 5"));
  EXPECT_THAT(with("/uop/1/vec/0"_json_pointer, "fffff"),
              HasSubstr("micro-op 1 has an index beyond its field"));
  EXPECT_THAT(with("/acc_o"_json_pointer, OneGemm(Sizes{2, 16, 16}).json["acc_o"]),
              HasSubstr("key 'acc_o': is of another size"));
  EXPECT_THAT(with("/wgt"_json_pointer, OneGemm(Sizes{1, 16, 8}).json["wgt"]),
              HasSubstr("key 'wgt': has elements of 128 numbers"));
  OneGemm one(Sizes{});
  one.json.erase("wgt");
  EXPECT_THAT(one.Error(), HasSubstr("key 'wgt'"));
  EXPECT_THAT(OneGemm(Sizes{1, 12, 16}).Error(), HasSubstr("key 'wgt': is of no design point"));
}

}  // namespace
}  // namespace kiln::vta
