#pragma once

#include <string>

namespace polykern {

/// Whether a file survives a power cut that follows.
enum class Durable { kNo, kYes };

/// Writes a file so that a reader sees the old one or the whole new one, never a half. Makes the
/// folder if needed. Processes may do so at the same time. Throws Error with the path and the
/// reason.
void WriteResultFile(const std::string& folder, const std::string& name, const std::string& text,
                     Durable durable);

/// Throws Error if `folder` can be neither made nor written to: to be asked before a long run.
void CheckWritable(const std::string& folder);

}  // namespace polykern
