// Small data files for the readers' tests, written into a folder of the test's own.
#ifndef TESTS_FRONTEND_DATA_TEST_FILES_H_
#define TESTS_FRONTEND_DATA_TEST_FILES_H_

#include <gtest/gtest.h>
#include <unistd.h>
#include <zip.h>
#include <zlib.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace kiln {

class DataFilesTest : public testing::Test {
 protected:
  DataFilesTest() {
    const testing::TestInfo* info = testing::UnitTest::GetInstance()->current_test_info();
    folder_ =
        std::filesystem::temp_directory_path() / (std::string("kiln_") + info->test_suite_name() +
                                                  "_" + info->name() + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
  }
  ~DataFilesTest() override {
    std::error_code error;
    std::filesystem::remove_all(folder_, error);
  }

  std::filesystem::path Write(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
    return folder_ / name;
  }

  static std::string Idx(int type, const std::vector<uint32_t>& dims, const std::string& elements) {
    std::string out{'\0', '\0', static_cast<char>(type), static_cast<char>(dims.size())};
    for (uint32_t d : dims) {
      for (int shift : {24, 16, 8, 0}) out += static_cast<char>(d >> shift & 255);
    }
    return out + elements;
  }

  static std::string Npy(const std::string& header, const std::string& elements, int version = 1) {
    std::string out = "\x93NUMPY";
    out += static_cast<char>(version);
    out += '\0';
    const size_t length = header.size();
    for (int i = 0; i < (version == 1 ? 2 : 4); ++i)
      out += static_cast<char>(length >> (8 * i) & 255);
    return out + header + elements;
  }

  template <typename T>
  static std::string BytesOf(const std::vector<T>& values) {
    return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  }

  static std::string Gzip(const std::string& bytes) {
    z_stream stream = {};
    EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
    std::string out(bytes.size() + 1024, '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(bytes.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
    out.resize(out.size() - stream.avail_out);
    deflateEnd(&stream);
    return out;
  }

  std::filesystem::path WriteNpz(
      const std::string& name,
      const std::vector<std::pair<std::string, std::string>>& entries) const {
    int fault = 0;
    zip_t* archive = zip_open((folder_ / name).c_str(), ZIP_CREATE | ZIP_TRUNCATE, &fault);
    for (const auto& [entry, bytes] : entries) {
      zip_source_t* source = zip_source_buffer(archive, bytes.data(), bytes.size(), 0);
      EXPECT_GE(zip_file_add(archive, entry.c_str(), source, 0), 0);
    }
    EXPECT_EQ(zip_close(archive), 0);
    return folder_ / name;
  }

  std::filesystem::path folder_;
};

}  // namespace kiln

#endif  // TESTS_FRONTEND_DATA_TEST_FILES_H_
