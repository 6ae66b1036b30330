"""What a dead worker has left becomes a `Crash`: what happened, at which line, with which tensor and index, and the likely cause.

symbolize             addresses become functions and lines
facts, addresses      what is known for certain: signal, step, the tensor that an address is near
rules, causes         what it probably follows from; loops, macro and names look into the text
crash                 all of it in words, for a person
"""
