// How the files of the program fuzz_seeds write seeds. fuzz/seeds.cc has those of shared rooms; a
// family's are in fuzz/FAMILY_seeds.cc, which fuzz/FAMILY.cmake adds to the program.
#ifndef FUZZ_SEEDS_H_
#define FUZZ_SEEDS_H_

#include <filesystem>
#include <string_view>

namespace kiln {

// A function that writes seeds to FOLDER/<target>/. The program calls all of them.
struct SeedWriter {
  explicit SeedWriter(void (*write)(const std::filesystem::path& folder));
};

// Writes one seed; creates its folder.
void WriteSeed(const std::filesystem::path& path, std::string_view bytes);

}  // namespace kiln

#endif  // FUZZ_SEEDS_H_
