"""Text that says nothing about figures, companies or readings, to be cut to the shape of a context."""

ENGLISH = (
    "The notice beside the window explains how visitors may use the reading room on quiet afternoons. Please keep bags "
    "under the long table and leave wet umbrellas in the stand near the door. Pencils are welcome while ink bottles "
    "stay outside because the old carpets stain easily. Tea and small cakes are served in the garden when the weather "
    "is mild and the benches are dry. A bell rings softly before closing and the lamps are dimmed one after another. "
    "Lost gloves and scarves wait in a basket behind the front desk until somebody asks for them. The staircase on the "
    "left leads to a gallery with paintings of rivers, bridges and mountain villages. Children like the corner with "
    "wooden puzzles where a friendly cat sleeps on a cushion most of the morning. In winter the stove is lit early and "
    "the smell of pine drifts through every corridor. Musicians sometimes practise upstairs and the sound of a cello "
    "can be heard faintly behind the shelves. Bicycles may be parked along the hedge but never in front of the gate. "
    "The caretaker waters the ferns at noon and opens the upper windows for fresh air."
)

CHINESE = (
    "窗边的告示说明了访客在安静的午后如何使用阅览室请把背包放在长桌下面湿雨伞放进门口的架子里铅笔可以带入墨水瓶请留在室外"
    "因为旧地毯容易弄脏天气温和长椅干燥的时候花园里会供应茶水和小点心关门之前钟声轻轻响起灯光一盏一盏地暗下来"
    "遗失的手套和围巾放在前台后面的篮子里等人来认领左侧的楼梯通向一间画廊里面挂着河流桥梁和山村的风景画"
    "孩子们喜欢摆着木制拼图的角落一只温顺的猫上午常常睡在那里的垫子上冬天炉火很早就点起来松木的香味飘过每一条走廊"
    "楼上偶尔有人练琴隔着书架能隐约听见大提琴的声音自行车可以停在树篱旁边但不要停在大门前面管理员中午给蕨类植物浇水"
    "并且打开高处的窗户让新鲜空气进来"
)
