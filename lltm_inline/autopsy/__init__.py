"""What a dead worker has left becomes a `Crash`: what happened, at which line, with which tensor and index, and the likely cause.

symbolize             addresses become functions and lines; lines looks into the text where those are not the ones
facts, addresses      what is known for certain: signal, step, the tensor that an address is near
happened, causes      what that means, and what it probably follows from: tables of rules
crash                 all of it in words, for a person
"""
